import { InvalidInputError } from '../../core/errors.ts'
import { storableText } from '../../core/text.ts'
import { remembered } from './remembered.ts'

/**
 * A zone as stretches of constant offset. The wall time of an instant is the instant plus the offset, in
 * milliseconds as if the wall stood in Greenwich; within a segment it runs on, between two it may jump ahead
 * (a gap) or back (a fold). A segment never crosses the end of a year of UTC, so two neighbours may share
 * their offset.
 */
export interface Segment {
  readonly fromMs: number
  /** Where the next segment starts. */
  readonly untilMs: number
  readonly offsetMs: number
  /**
   * The highest wall time that was shown or passed before this segment, as the next that would have come. The
   * segment's own first is above it after a gap, below it after a fold, and the same where nothing jumps.
   */
  readonly reachedMs: number
}

export interface Zone {
  /** The segment that an instant, in milliseconds since 1970, lies in. */
  segmentAt(atMs: number): Segment
}

const dayMs = 86_400_000

/**
 * How far apart the offset is read while a year is searched for transitions. Two closer than this that cancel
 * each other would be missed; the closest since 1970 are seven days apart (Noronha in October 2000).
 */
const probeMs = 5 * dayMs

/** More than any wall clock was ever set back, so that what a fold repeats is known from here on. */
const longestFoldMs = 2 * dayMs

/** Every name that Intl lists and their older spellings. A formatter takes 60 kB. */
const zonesMax = 600

/** A look-up reads a year or two; a count over an outage, a few; nobody comes back for a hundred. */
const yearsMax = 100

/**
 * The zone of a name that Intl knows. An offset such as `+02:00` is refused although Intl takes it: Postgres
 * reads the same text as two hours *west*, so it would mean one thing here and another in a query.
 *
 * @throws InvalidInputError (`OPTION_INVALID`, field `timezone`) where no such zone is known.
 *
 * @example
 * zoneOf('Asia/Kolkata').segmentAt(0).offsetMs // 19800000
 */
export const zoneOf = remembered(zonesMax, (name: string): Zone => {
  const offsetAt = offsetReader(name)
  const segmentsOf = remembered(yearsMax, (year: number) => segmentsOfYear(offsetAt, year))
  return {
    segmentAt(atMs) {
      const segments = segmentsOf(new Date(atMs).getUTCFullYear())
      const found = segments.find(({ untilMs }) => atMs < untilMs)
      if (found === undefined) throw new RangeError(`no year holds the moment ${atMs}`)
      return found
    },
  }
})

type OffsetAt = (atMs: number) => number

/** Reads a zone's offset by formatting: the only way in which Node tells it, a microsecond each time. */
function offsetReader(name: string): OffsetAt {
  const formatter = formatterOf(name)
  return atMs => {
    const text = formatter.format(atMs)
    const offset = text.slice(text.indexOf('GMT') + 3)
    if (offset === '') return 0
    const [hours = 0, minutes = 0, seconds = 0] = offset.slice(1).split(':').map(Number)
    return (offset.startsWith('-') ? -1000 : 1000) * (hours * 3600 + minutes * 60 + seconds)
  }
}

function formatterOf(name: string): Intl.DateTimeFormat {
  const refused = (reason: string, cause?: unknown) =>
    new InvalidInputError('OPTION_INVALID', 'timezone', reason, { cause })
  // Without a name Intl would take the host's zone.
  if (typeof name !== 'string') throw refused('is no text')
  if (/^[+-]/.test(name)) {
    throw refused(
      `"${storableText(name, 100)}" is an offset; name a zone, such as Europe/Berlin or Etc/GMT-2`,
    )
  }
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset', year: '2-digit' })
  } catch (cause) {
    throw refused(`"${storableText(name, 100)}" is no known zone, such as Europe/Berlin or UTC`, cause)
  }
}

function segmentsOfYear(offsetAt: OffsetAt, year: number): Segment[] {
  const fromMs = Date.UTC(year, 0, 1)
  const untilMs = Date.UTC(year + 1, 0, 1)
  const before = stretches(offsetAt, fromMs - longestFoldMs, fromMs)
  let reachedMs = Math.max(...before.map(stretch => stretch.untilMs + stretch.offsetMs))
  return stretches(offsetAt, fromMs, untilMs).map(stretch => {
    const segment = { ...stretch, reachedMs }
    reachedMs = Math.max(reachedMs, stretch.untilMs + stretch.offsetMs)
    return segment
  })
}

type Stretch = Omit<Segment, 'reachedMs'>

/** The stretches of constant offset between two instants, without a hole. */
function stretches(offsetAt: OffsetAt, fromMs: number, untilMs: number): Stretch[] {
  const found: Stretch[] = []
  let startMs = fromMs
  let offsetMs = offsetAt(startMs)
  let probedMs = startMs
  while (startMs < untilMs) {
    const probe = Math.min(probedMs + probeMs, untilMs)
    const changed = offsetAt(probe) !== offsetMs
    if (changed || probe === untilMs) {
      const endMs = changed ? firstOther(offsetAt, offsetMs, probedMs, probe) : untilMs
      found.push({ fromMs: startMs, untilMs: endMs, offsetMs })
      startMs = endMs
      offsetMs = offsetAt(startMs)
      probedMs = startMs
    } else {
      probedMs = probe
    }
  }
  return found
}

/** The first second at which an offset no longer holds, between one where it does and one where not. */
function firstOther(offsetAt: OffsetAt, offsetMs: number, holdsMs: number, otherMs: number): number {
  let holds = holdsMs / 1000
  let other = otherMs / 1000
  while (other - holds > 1) {
    const middle = Math.floor((holds + other) / 2)
    if (offsetAt(middle * 1000) === offsetMs) holds = middle
    else other = middle
  }
  return other * 1000
}
