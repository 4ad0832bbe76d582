/** Ctrl-C reaches the whole foreground group, and npm passes it on once more: that is one wish, not two. */
const sameWishMs = 250

/**
 * The first SIGINT or SIGTERM aborts the signal, so that what runs ends at its next good moment; the second
 * ends the process at once, with the code that a shell gives to a signal.
 */
export function watchSignals(onFirst: () => void): AbortSignal {
  const stop = new AbortController()
  let firstMs: number | undefined
  const handle = (_: NodeJS.Signals, number: number) => {
    if (firstMs === undefined) {
      firstMs = performance.now()
      stop.abort()
      onFirst()
    } else if (performance.now() - firstMs > sameWishMs) {
      process.exit(128 + number)
    }
  }
  process.on('SIGINT', handle)
  process.on('SIGTERM', handle)
  return stop.signal
}
