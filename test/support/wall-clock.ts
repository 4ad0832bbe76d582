/**
 * What the clock on the wall of a zone shows, minute by minute: each minute of a window is asked of Intl by
 * itself, so that nothing is assumed about where a zone's offset changes, or by how much.
 */

export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
export const dayMs = 24 * hourMs

/**
 * More than any zone has turned its clock back by. A window is read from this much earlier on, so that its
 * first minutes are known as a second pass where they are one.
 */
const longestFoldMs = 6 * hourMs

/** A wall time is written as the instant at which UTC shows it: a plain number that orders wall times. */
export interface WallClock {
  readonly zone: string
  /** The real time of the first minute that was read, before the window. */
  readonly firstMs: number
  /** The wall time at each minute from then on. */
  readonly shown: Float64Array
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** The wall time that a zone shows at a moment. */
export function wallTime(zone: string, atMs: number): number {
  let format = formats.get(zone)
  if (format === undefined) {
    // Swedish is written as ISO writes it.
    format = new Intl.DateTimeFormat('sv-SE', {
      timeZone: zone,
      dateStyle: 'short',
      timeStyle: 'medium',
      hourCycle: 'h23',
    })
    formats.set(zone, format)
  }
  return Date.parse(`${format.format(atMs).replace(' ', 'T')}Z`)
}

/** Reads a window of whole minutes. One reading serves every recurrence that is looked for in it. */
export function readWallClock(zone: string, fromMs: number, untilMs: number): WallClock {
  const firstMs = Math.floor((fromMs - longestFoldMs) / minuteMs) * minuteMs
  const minutes = Math.floor((untilMs - firstMs) / minuteMs) + 1
  const shown = Float64Array.from({ length: minutes }, (_, minute) =>
    wallTime(zone, firstMs + minute * minuteMs),
  )
  // Since 1972 every zone is whole minutes from UTC; the oracle walks by minutes and would be wrong before.
  if (shown.some(wall => wall % minuteMs !== 0)) throw new Error(`${zone} shows parts of minutes`)
  return { zone, firstMs, shown }
}

/** A change that is taken back within a step is not found, which costs no more than that change. */
const scanMs = 7 * dayMs

/** The first instant of each new offset of a zone in a span of time. */
export function transitionsOf(zone: string, fromMs: number, untilMs: number): number[] {
  const offset = (atMs: number) => wallTime(zone, atMs) - atMs
  const found: number[] = []
  for (let startMs = fromMs; startMs < untilMs; startMs += scanMs) {
    const [before, after] = [offset(startMs), offset(startMs + scanMs)]
    let [lowMs, highMs] = [startMs, startMs + scanMs]
    while (before !== after && highMs - lowMs > minuteMs) {
      const middleMs = Math.floor((lowMs + highMs) / 2 / minuteMs) * minuteMs
      if (offset(middleMs) === before) lowMs = middleMs
      else highMs = middleMs
    }
    if (before !== after) found.push(highMs)
  }
  return found
}
