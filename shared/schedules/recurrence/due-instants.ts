/** An instant at which a schedule is due, in milliseconds since 1970. */
export interface Instant {
  readonly atMs: number
  /**
   * Whether it stands for a wall time that did not exist that day, at the first valid minute after it. A time
   * that did exist may fall on the same instant.
   */
  readonly shifted: boolean
}

/**
 * Instants before any schedule bounds them. The moments asked from and until are whole milliseconds between
 * the years 1970 and 9999, both included; where the first is after the second, nothing lies between.
 */
export interface DueInstants {
  first(fromMs: number, untilMs: number): Instant | undefined
  last(fromMs: number, untilMs: number): Instant | undefined
  count(fromMs: number, untilMs: number): number
}
