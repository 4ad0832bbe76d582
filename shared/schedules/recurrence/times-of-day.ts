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

/** The values that one field names, in order. */
export interface NamedValues {
  readonly values: readonly number[]
  has(value: number): boolean
  /** How many lie below a value, which may be the one after the last that the field could name. */
  below(value: number): number
}

/** The values of a field from croner's cells, one for each that it could name: those that are truthy. */
export function namedValues(cells: readonly number[]): NamedValues {
  const values = [...cells.keys()].filter(value => cells[value])
  const ranks = [...cells.keys()].map(value => values.filter(named => named < value).length)
  return {
    values,
    has: value => Boolean(cells[value]),
    below: value => ranks[value] ?? values.length,
  }
}

export function timesOfDay(hours: NamedValues, minutes: NamedValues, seconds: NamedValues): TimesOfDay {
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
