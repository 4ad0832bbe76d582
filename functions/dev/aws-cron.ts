/**
 * The six fields of an AWS `cron()` as croner's seven. The two dialects look alike and differ:
 *
 *     AWS:         minute hour day-of-month month day-of-week year      SUN = 1   0/10 steps   20-2 wraps
 *     croner: second minute hour day-of-month month day-of-week year    SUN = 0   0-59/10      refused
 *
 * So nothing is passed through: every field is read by AWS' grammar and written out as the list of its
 * values, `*` alone excepted. Handed over as it is, `0 3 * * ? *` would be hourly at three minutes past.
 */
export class CronRefusal extends Error {
  override readonly name = 'CronRefusal'
}

interface Field {
  readonly name: string
  readonly min: number
  readonly max: number
  readonly words?: readonly string[]
}

const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

const minutes: Field = { name: 'minutes', min: 0, max: 59 }
const hours: Field = { name: 'hours', min: 0, max: 23 }
const dayOfMonth: Field = { name: 'day-of-month', min: 1, max: 31 }
const month: Field = { name: 'month', min: 1, max: 12, words: months }
const dayOfWeek: Field = { name: 'day-of-week', min: 1, max: 7, words: weekdays }
const year: Field = { name: 'year', min: 1970, max: 2199 }

/**
 * Converts the inside of `cron(…)`; what cannot be expressed is refused by the name of its field.
 *
 * @example
 * cronerPattern('0 3 * * ? *') // '0 0 3 * * * *'
 */
export function cronerPattern(fields: string): string {
  const given = fields.trim().split(/\s+/)
  const [minuteText, hourText, domText, monthText, dowText, yearText] = given.map(text => text.toUpperCase())
  if (given.length !== 6 || yearText === undefined) {
    throw new CronRefusal(`cron(${fields}): ${given.length} fields, not 6; the sixth is the year`)
  }
  if ((domText === '?') === (dowText === '?')) {
    throw new CronRefusal(`cron(${fields}): exactly one of day-of-month and day-of-week must be "?"`)
  }
  return [
    '0',
    list(minutes, minuteText),
    list(hours, hourText),
    daysOfMonth(domText ?? ''),
    list(month, monthText),
    daysOfWeek(dowText ?? ''),
    list(year, yearText),
  ].join(' ')
}

function daysOfMonth(text: string): string {
  if (text === '?') return '*'
  if (text === 'L') return text
  const [, near] = /^(\d+)W$/.exec(text) ?? []
  if (near !== undefined) return `${value(dayOfMonth, near)}W`
  return list(dayOfMonth, text)
}

function daysOfWeek(text: string): string {
  if (text === '?') return '*'
  // By itself it is the week's last day, whereas 6L is the month's last Friday.
  if (text === 'L') return String(shifted(dayOfWeek.max))
  const [, last] = /^(\w+)L$/.exec(text) ?? []
  if (last !== undefined) return `${shifted(value(dayOfWeek, last))}#L`
  const [, day, nth] = /^(\w+)#([1-5])$/.exec(text) ?? []
  if (day !== undefined) return `${shifted(value(dayOfWeek, day))}#${nth}`
  return text === '*' ? text : values(dayOfWeek, text).map(shifted).join(',')
}

const shifted = (day: number) => day - 1

function list(field: Field, text = ''): string {
  return text === '*' ? text : values(field, text).join(',')
}

/** Every value that a comma-separated list of values, ranges and steps names, ascending. */
function values(field: Field, text: string): number[] {
  const all = text.split(',').flatMap(part => {
    const [span = '', stepText, ...rest] = part.split('/')
    if (rest.length > 0) throw refused(field, part)
    const step = stepText === undefined ? undefined : Number(/^[1-9]\d*$/.exec(stepText)?.[0])
    if (Number.isNaN(step)) throw refused(field, part)
    return stepped(field, span, step)
  })
  return [...new Set(all)].sort((a, b) => a - b)
}

/** `a`, `a-b`, `*`, each with a step or without; a step on a single value runs to the field's end. */
function stepped(field: Field, span: string, step: number | undefined): number[] {
  const [fromText = '', toText, ...rest] =
    span === '*' ? [String(field.min), String(field.max)] : span.split('-')
  if (rest.length > 0) throw refused(field, span)
  const from = value(field, fromText)
  const to = toText === undefined ? (step === undefined ? from : field.max) : value(field, toText)
  const size = field.max - field.min + 1
  // A range may run over the field's end: 20-2 is from eight in the evening until three at night.
  const length = to >= from ? to - from : to - from + size
  const offsets = Array.from({ length: length + 1 }, (_, offset) => offset).filter(
    at => at % (step ?? 1) === 0,
  )
  return offsets.map(offset => ((from - field.min + offset) % size) + field.min)
}

function value(field: Field, text: string): number {
  const word = field.words?.indexOf(text) ?? -1
  const read = word >= 0 ? word + field.min : /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (!(read >= field.min && read <= field.max)) throw refused(field, text)
  return read
}

function refused(field: Field, text: string): CronRefusal {
  const range = `${field.min}-${field.max}${field.words ? ` or ${field.words[0]}-${field.words.at(-1)}` : ''}`
  return new CronRefusal(
    `cron(): ${field.name} "${text}" is not understood; it takes ${range}, lists and steps`,
  )
}
