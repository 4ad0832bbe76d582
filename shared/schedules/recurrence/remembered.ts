/**
 * A function that remembers what it made, at most `countMax` results: the oldest goes first, because names
 * and expressions come from users and a process that lives for days must not keep every one. What throws is
 * not remembered.
 *
 * @example
 * const squareOf = remembered(2, (n: number) => n * n)
 * squareOf(3) // 9
 */
export function remembered<Key, Value>(countMax: number, make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, Value>()
  return key => {
    const known = made.get(key)
    if (known !== undefined) return known
    const value = make(key)
    if (made.size >= countMax) for (const oldest of made.keys()) if (made.delete(oldest)) break
    made.set(key, value)
    return value
  }
}
