/**
 * The times of a day that three lists name: every hour with every minute with every second. They are counted
 * by their rank and found by it, so that a pattern that is due each second costs no more than one that is due
 * once a day.
 */
export interface TimesOfDay {
  readonly count: number
  /** How many come before a second of the day, 0 to 86400. */
  rankOf(secondOfDay: number): number
  /** The second of the day of the time that has this many before it, 0 to `count` - 1. */
  timeAt(rank: number): number
}

/** Times of day from croner's cells: one per hour, minute or second, truthy where it is named. */
export function timesOfDay(
  hourCells: readonly number[],
  minuteCells: readonly number[],
  secondCells: readonly number[],
): TimesOfDay {
  const [hours, minutes, seconds] = [listed(hourCells), listed(minuteCells), listed(secondCells)]
  const perMinute = seconds.values.length
  const perHour = minutes.values.length * perMinute
  return {
    count: hours.values.length * perHour,
    rankOf(secondOfDay) {
      const hour = Math.floor(secondOfDay / 3600)
      const minute = Math.floor(secondOfDay / 60) % 60
      const wholeHours = hours.below(hour) * perHour
      if (!hours.has(hour)) return wholeHours
      const wholeMinutes = wholeHours + minutes.below(minute) * perMinute
      return minutes.has(minute) ? wholeMinutes + seconds.below(secondOfDay % 60) : wholeMinutes
    },
    timeAt(rank) {
      const hour = hours.values[Math.floor(rank / perHour)] ?? 0
      const minute = minutes.values[Math.floor((rank % perHour) / perMinute)] ?? 0
      return hour * 3600 + minute * 60 + (seconds.values[rank % perMinute] ?? 0)
    },
  }
}

/** A list of cells as its values in order, with the number of those below any cell and below the end. */
function listed(cells: readonly number[]) {
  const values = [...cells.keys()].filter(value => cells[value])
  const ranks = [...cells, 0].map((_, value) => values.filter(other => other < value).length)
  return {
    values,
    below: (value: number) => ranks[value] ?? values.length,
    has: (value: number) => Boolean(cells[value]),
  }
}
