import { CronDate, CronPattern } from 'croner'
import { remembered } from './remembered.ts'

/** The dates that a pattern names, as days since 1970-01-01; without a time or a zone. */
export interface Calendar {
  /** The first date on or after a day; undefined where none comes. */
  first(day: number): number | undefined
  /** The last date on or before a day. */
  last(day: number): number | undefined
  /** How many dates lie in [fromDay, untilDay). */
  count(fromDay: number, untilDay: number): number
}

const dayMs = 86_400_000

/** West of Greenwich 1970 begins while the wall still shows the last day of 1969. The end is croner's. */
const yearMin = 1969
const yearMax = 9999

/** The calendar repeats itself after 400 years, so that what has not come by then never comes. */
const searchedMonthsMax = 400 * 12

/** Forty years of months: a number each, for the counts of long outages. */
const monthsMax = 480

/**
 * The calendar of the last four fields of a pattern: day of month, month, day of week and year. croner says
 * of each date whether it matches; a month's answers are kept as the bits of one number.
 *
 * @throws what croner throws at fields that it cannot read.
 */
export function calendarOf(dateFields: string): Calendar {
  const pattern = new CronPattern(`0 0 0 ${dateFields}`)
  const years = ownYears(pattern)
  const isYear = (year: number) => years === undefined || years.has(year)
  const bitsOf = remembered(monthsMax, (month: number) => bitsOfMonth(pattern, month))
  const isMonth = (month: number) => Boolean(pattern.month[month % 12]) && isYear(Math.floor(month / 12))
  const datesOf = (month: number) => (isMonth(month) ? bitsOf(month) : 0)

  /** The nearest month that has a date, in a direction; the mask cuts the dates of the month begun in. */
  const search = (day: number, step: 1 | -1, mask: (dayOfMonth: number) => number) => {
    const start = place(day)
    let cut = mask(start.dayOfMonth)
    let searched = 0
    for (let month = start.month; isWithin(month) && searched <= searchedMonthsMax; month += step) {
      const bits = datesOf(month) & cut
      if (bits !== 0) return { firstDay: firstDayOf(month), bits }
      cut = -1
      if (isYear(Math.floor(month / 12))) searched += 1
    }
    return undefined
  }

  return {
    first(day) {
      const found = search(day, 1, fromOn)
      return found && found.firstDay + lowestBit(found.bits)
    },
    last(day) {
      const found = search(day, -1, upTo)
      return found && found.firstDay + highestBit(found.bits)
    },
    count(fromDay, untilDay) {
      if (fromDay >= untilDay) return 0
      const [start, end] = [place(fromDay), place(untilDay - 1)]
      let dates = 0
      for (let month = start.month; month <= end.month; month += 1) {
        const cut = month === start.month ? fromOn(start.dayOfMonth) : -1
        dates += bitCount(datesOf(month) & cut & (month === end.month ? upTo(end.dayOfMonth) : -1))
      }
      return dates
    },
  }
}

/**
 * The years that a pattern names, undefined for all. croner holds ten thousand cells for them, 80 kB of every
 * pattern that is kept: they are taken out here and asked before it is.
 */
function ownYears(pattern: CronPattern): ReadonlySet<number> | undefined {
  const years = pattern.starYear ? undefined : new Set([...pattern.year.keys()].filter(y => pattern.year[y]))
  pattern.starYear = true
  pattern.year = []
  return years
}

/** A month is counted from the year 0; the bit of its first day is the lowest. */
function bitsOfMonth(pattern: CronPattern, month: number): number {
  const firstDay = firstDayOf(month)
  let bits = 0
  for (let day = firstDay; day < firstDayOf(month + 1); day += 1) {
    if (new CronDate(new Date(day * dayMs), 0).match(pattern, {})) bits |= 1 << (day - firstDay)
  }
  return bits
}

const isWithin = (month: number) => month >= yearMin * 12 && month < (yearMax + 1) * 12
const firstDayOf = (month: number) => Date.UTC(Math.floor(month / 12), month % 12, 1) / dayMs

function place(day: number): { month: number; dayOfMonth: number } {
  const date = new Date(day * dayMs)
  return { month: date.getUTCFullYear() * 12 + date.getUTCMonth(), dayOfMonth: date.getUTCDate() }
}

const fromOn = (dayOfMonth: number) => -1 << (dayOfMonth - 1)
const upTo = (dayOfMonth: number) => -1 >>> (32 - dayOfMonth)
const highestBit = (bits: number) => 31 - Math.clz32(bits)
const lowestBit = (bits: number) => highestBit(bits & -bits)

function bitCount(bits: number): number {
  let count = 0
  for (let rest = bits; rest !== 0; rest &= rest - 1) count += 1
  return count
}
