/**
 * A cron expression as sets of numbers, read by as little code as can read it: fields of lists, ranges,
 * steps and names, `?` as `*`, `L` and `#` among days, and the nicknames. It shares nothing with the parser
 * that it is to check, and throws on whatever else it meets.
 */

export interface CronFields {
  readonly seconds: readonly number[]
  readonly minutes: ReadonlySet<number>
  readonly hours: ReadonlySet<number>
  /** Whether a wall time's date matches: by day of month or by day of week where both are restricted. */
  readonly isDay: (wallMs: number) => boolean
  /** Whether the hours keep a pace; listed otherwise. */
  readonly isPace: boolean
}

const nicknames: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}
const monthNames = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const dayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

const isAny = (field: string) => field === '*' || field === '?'

/** The numbers of one comma part: `*`, `7`, `1-5`, and both of the long ones with `/2`. */
function numbersOf(part: string, lowest: number, highest: number, names: readonly string[]): number[] {
  const readNumber = (text: string) => {
    const named = names.indexOf(text.toUpperCase())
    const value = named < 0 ? Number(text) : named + lowest
    if (/^\w+$/.test(text) && value >= lowest && value <= highest) return value
    throw new Error(`"${text}" is no number of a cron field`)
  }
  const [range = '', step = '1'] = part.split('/')
  const [from = '', to = from] = range.split('-')
  const [first, last] = isAny(range) ? [lowest, highest] : [readNumber(from), readNumber(to)]
  const numbers: number[] = []
  for (let number = first; number <= last; number += Number(step)) numbers.push(number)
  return numbers
}

const setOf = (field: string, lowest: number, highest: number, names: readonly string[] = []) =>
  new Set(field.split(',').flatMap(part => numbersOf(part, lowest, highest, names)))

function dayOfMonth(field: string): (date: Date) => boolean {
  const parts = field.split(',')
  const days = new Set(parts.flatMap(part => (part === 'L' ? [] : numbersOf(part, 1, 31, []))))
  const dayAfter = (date: Date) => new Date(date.getTime() + 86_400_000).getUTCDate()
  return date => days.has(date.getUTCDate()) || (parts.includes('L') && dayAfter(date) === 1)
}

function dayOfWeek(field: string): (date: Date) => boolean {
  const parts = field.split(',').map(part => {
    const [days = '', nth] = part.split('#')
    // Sunday has two numbers.
    return { days: new Set(numbersOf(days, 0, 7, dayNames).map(day => day % 7)), nth }
  })
  return date => {
    const nth = Math.ceil(date.getUTCDate() / 7)
    const isLast = new Date(date.getTime() + 7 * 86_400_000).getUTCDate() <= 7
    return parts.some(
      part =>
        part.days.has(date.getUTCDay()) &&
        (part.nth === undefined || (part.nth === 'L' ? isLast : nth === Number(part.nth))),
    )
  }
}

export function parseCron(expression: string): CronFields {
  const fields = (nicknames[expression.toLowerCase()] ?? expression).trim().split(/\s+/)
  if (fields.length === 5) fields.unshift('0')
  const [second, minute, hour, day, month, weekday] = fields
  if (
    second === undefined ||
    minute === undefined ||
    hour === undefined ||
    day === undefined ||
    month === undefined ||
    weekday === undefined ||
    fields.length !== 6
  ) {
    throw new Error(`"${expression}" has neither five nor six fields`)
  }
  const months = setOf(month, 1, 12, monthNames)
  const isDayOfMonth = dayOfMonth(day)
  const isDayOfWeek = dayOfWeek(weekday)
  const isEither = !isAny(day) && !isAny(weekday)
  return {
    seconds: [...setOf(second, 0, 59)].sort((one, other) => one - other),
    minutes: setOf(minute, 0, 59),
    hours: setOf(hour, 0, 23),
    isDay: wallMs => {
      const date = new Date(wallMs)
      if (!months.has(date.getUTCMonth() + 1)) return false
      return isEither ? isDayOfMonth(date) || isDayOfWeek(date) : isDayOfMonth(date) && isDayOfWeek(date)
    },
    isPace: isAny(hour) || hour.split(',').every(part => part.includes('/')),
  }
}
