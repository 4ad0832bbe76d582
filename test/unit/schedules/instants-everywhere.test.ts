import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Instant, recurrenceOf } from '../../../shared/schedules/recurrence/recurrence.ts'
import { dueInstants, type RecurrenceDefinition } from '../../support/cron-oracle.ts'
import {
  cronsWithinMinutes,
  everies,
  generatedCrons,
  isWithinMinutes,
  writtenCrons,
} from '../../support/recurrences.ts'
import { seed } from '../../support/seed.ts'
import {
  dayMs,
  hourMs,
  minuteMs,
  readWallClock,
  transitionsOf,
  type WallClock,
} from '../../support/wall-clock.ts'

/**
 * Every recurrence in every zone against the oracle, where it is hardest: around the moments at which the
 * zone changes its clock. A zone that has too few of them is looked at in ordinary days and turns of a year.
 */
const eraMs = { from: Date.UTC(1973), until: Date.UTC(2045) }
const momentsPerZone = 3
const casesPerZone = 24
const aroundMs = 36 * hourMs
/** For recurrences with several instants a minute. */
const closelyAroundMs = 70 * minuteMs

const zones = [
  ...new Set([...Intl.supportedValuesOf('timeZone'), ...writtenCrons.map(({ timezone }) => timezone)]),
]

interface Moment {
  readonly atMs: number
  readonly clock: WallClock
}

function momentsOf(zone: string, ownSeed: number): Moment[] {
  const changes = transitionsOf(zone, eraMs.from, eraMs.until)
  const ordinary = fc.oneof(
    fc.integer({ min: eraMs.from / dayMs, max: eraMs.until / dayMs }).map(day => day * dayMs),
    fc.integer({ min: 1973, max: 2045 }).map(year => Date.UTC(year)),
  )
  const some = fc.tuple(
    fc.shuffledSubarray(changes, { minLength: changes.length }),
    fc.array(ordinary, { minLength: momentsPerZone, maxLength: momentsPerZone }),
  )
  const [moments = []] = fc.sample(some, { seed: ownSeed, numRuns: 1 })
  return moments
    .flat()
    .slice(0, momentsPerZone)
    .map(atMs => ({ atMs, clock: readWallClock(zone, atMs - aroundMs, atMs + aroundMs) }))
}

/** A point of a window: by its share of it, or by an instant that is due and the milliseconds beside it. */
interface Point {
  readonly share: number
  readonly besideMs: number | null
}

const point: fc.Arbitrary<Point> = fc.record({
  share: fc.double({ min: 0, max: 1, noNaN: true }),
  besideMs: fc.constantFrom(null, null, -1, 0, 1),
})

/** Where a recurrence starts or ends: mostly nowhere, else by its share of the window. */
const bound = fc.oneof(
  { weight: 4, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.double({ min: 0, max: 1, noNaN: true }) },
)

const cases = fc.record({
  moment: fc.nat({ max: momentsPerZone - 1 }),
  recurrence: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...writtenCrons).map(({ recurrence }) => recurrence) },
    { weight: 6, arbitrary: generatedCrons },
    { weight: 1, arbitrary: cronsWithinMinutes },
    { weight: 2, arbitrary: everies },
  ),
  start: bound,
  end: bound,
  points: fc.array(fc.tuple(point, point), { minLength: 3, maxLength: 3 }),
})

type Case = typeof cases extends fc.Arbitrary<infer Value> ? Value : never

const written = (instant: Instant | undefined) =>
  instant && `${new Date(instant.atMs).toISOString()}${instant.shifted ? ' shifted' : ''}`

/** An assertion that costs nothing while it holds: there are millions. */
function agree(what: string, found: Instant | undefined, due: Instant | undefined): void {
  if (!isDeepStrictEqual(found, due)) expect(written(found), what).toBe(written(due))
}

function agreesWithOracle(
  zone: string,
  { atMs, clock }: Moment,
  { recurrence, start, end, points }: Omit<Case, 'moment'>,
): void {
  const width = isWithinMinutes(recurrence) ? closelyAroundMs : aroundMs
  const [fromMs, untilMs] = [atMs - width, atMs + width]
  const within = (share: number) => fromMs + Math.floor(share * (untilMs - fromMs))
  const [first, last] = start !== null && end !== null && start > end ? [end, start] : [start, end]
  const [startAtMs, endAtMs] = [first === null ? null : within(first), last === null ? null : within(last)]
  const definition: RecurrenceDefinition = { recurrence, timezone: zone, startAtMs, endAtMs }
  const due = dueInstants(definition, clock, fromMs, untilMs)
  const found = recurrenceOf(definition)
  const nextWithin = (afterMs: number) => {
    const next = found.next(afterMs)
    return next && next.atMs <= untilMs ? next : undefined
  }

  let walkedMs = fromMs - 1
  for (const instant of [...due, undefined]) {
    agree(`after ${new Date(walkedMs).toISOString()}`, nextWithin(walkedMs), instant)
    walkedMs = instant?.atMs ?? walkedMs
  }
  const placed = ({ share, besideMs }: Point) => {
    const beside = besideMs === null ? undefined : due[Math.floor(share * due.length)]
    return beside ? beside.atMs + (besideMs ?? 0) : within(share)
  }
  for (const pair of points) {
    const [lowMs = 0, highMs = 0] = pair.map(placed).sort((one, other) => one - other)
    const inside = due.filter(each => each.atMs >= lowMs && each.atMs <= highMs)
    const window = `${new Date(lowMs).toISOString()} to ${new Date(highMs).toISOString()}`
    agree(`newest from ${window}`, found.newest(lowMs, highMs), inside.at(-1))
    expect(found.count(lowMs, highMs), `count from ${window}`).toBe(inside.length)
    agree(
      `after ${window}`,
      nextWithin(highMs),
      due.find(each => each.atMs > highMs),
    )
  }
}

const wholeWindow: readonly [Point, Point][] = [
  [
    { share: 0, besideMs: null },
    { share: 1, besideMs: null },
  ],
]

describe('around three moments at which its clock changes', () => {
  it.each(zones.map((zone, index) => [zone, seed + index] as const))(
    '%s has the instants that the oracle finds',
    (zone, ownSeed) => {
      const moments = momentsOf(zone, ownSeed)
      for (const moment of moments) {
        for (const { recurrence } of writtenCrons.filter(({ timezone }) => timezone === zone)) {
          agreesWithOracle(zone, moment, { recurrence, start: null, end: null, points: [...wholeWindow] })
        }
      }
      fc.assert(
        fc.property(cases, ({ moment, ...rest }) => {
          const chosen = moments[moment]
          if (chosen) agreesWithOracle(zone, chosen, rest)
        }),
        { seed: ownSeed, numRuns: casesPerZone },
      )
    },
  )
})
