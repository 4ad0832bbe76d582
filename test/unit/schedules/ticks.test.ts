import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Missed, type Plan, type PlanBounds, plan } from '../../../shared/schedules/planner.ts'
import { type Instant, recurrenceOf } from '../../../shared/schedules/recurrence/recurrence.ts'
import { dueInstants } from '../../support/cron-oracle.ts'
import { everies, generatedCrons, isWithinMinutes, writtenCrons } from '../../support/recurrences.ts'
import { seed } from '../../support/seed.ts'
import { dayMs, hourMs, minuteMs, readWallClock, transitionsOf } from '../../support/wall-clock.ts'

/**
 * Schedules whose ticks come when they will, around a change of the clock and for a month after it. What the
 * planner decides is held against the contract's table, told over the oracle's instants.
 */
const runsPerAnswer = 300
const ticksMax = 12
const [beforeMs, afterMs] = [3 * dayMs, 37 * dayMs]

const windows = [
  'America/New_York',
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'Africa/Cairo',
  'Africa/Casablanca',
  'America/Sao_Paulo',
  'Antarctica/Troll',
  'Pacific/Apia',
].flatMap(zone => {
  const changes = fc.shuffledSubarray(transitionsOf(zone, Date.UTC(2005), Date.UTC(2030)), {
    minLength: 2,
    maxLength: 2,
  })
  return fc.sample(changes, { seed, numRuns: 1 }).flatMap(chosen =>
    chosen.map(changeMs => {
      const [fromMs, untilMs] = [changeMs - beforeMs, changeMs + afterMs]
      return { zone, changeMs, fromMs, untilMs, clock: readWallClock(zone, fromMs, untilMs) }
    }),
  )
})

const upTo = (max: number) => fc.integer({ min: 0, max })

/**
 * A tick, by what it comes after: the instant that the schedule waits for, the tick before it, or the
 * change of the clock, whose two hours hold both passes of every fold.
 */
const tick = fc.oneof(
  fc.record({
    since: fc.constant('cursor' as const),
    lateMs: fc.oneof(upTo(2), upTo(90_000), upTo(6 * hourMs), upTo(3 * dayMs), upTo(31 * dayMs)),
  }),
  fc.record({ since: fc.constant('tick' as const), lateMs: fc.oneof(upTo(0), upTo(hourMs), upTo(dayMs)) }),
  fc.record({ since: fc.constant('change' as const), lateMs: upTo(2 * hourMs) }),
)

const scenarios = fc.record({
  window: fc.nat({ max: windows.length - 1 }),
  recurrence: fc.oneof(
    generatedCrons,
    everies,
    fc.constantFrom(
      ...writtenCrons.map(({ recurrence }) => recurrence).filter(each => !isWithinMinutes(each)),
    ),
  ),
  startMs: upTo(beforeMs),
  endMs: fc.oneof(fc.constant(beforeMs + afterMs), fc.integer({ min: beforeMs, max: beforeMs + afterMs })),
  latenessToleranceMs: fc.oneof(upTo(0), upTo(5 * minuteMs), upTo(2 * dayMs)),
  catchUpMax: fc.integer({ min: 1, max: 40 }),
  ticks: fc.array(tick, { minLength: 1, maxLength: ticksMax }),
})

/** The contract's table, word by word. */
function tableSays(due: readonly Instant[], missed: Missed, cursorMs: number, bounds: PlanBounds): Plan {
  const owed = due.filter(({ atMs }) => atMs >= cursorMs)
  const sinceCursor = owed.filter(({ atMs }) => atMs <= bounds.asOfMs)
  const [newest] = sinceCursor.slice(-1)
  const next = owed[sinceCursor.length]
  const toNextMs = newest && next ? next.atMs - newest.atMs : Infinity
  const isOnTime = newest && bounds.asOfMs - newest.atMs <= Math.min(bounds.latenessToleranceMs, toNextMs)
  const fires = {
    all: sinceCursor.slice(0, bounds.catchUpMax),
    latest: sinceCursor.slice(-1),
    skip: isOnTime ? [newest] : [],
  }[missed]
  const left = missed === 'all' ? [] : sinceCursor.filter(each => !fires.includes(each))
  return {
    fires,
    missed: left.length,
    missedFromMs: left[0]?.atMs ?? null,
    missedToMs: left.at(-1)?.atMs ?? null,
    cursorToMs: owed[missed === 'all' ? fires.length : sinceCursor.length]?.atMs ?? null,
  }
}

/** What became of each instant, as the plans themselves say it. */
class Ledger {
  readonly #due: readonly Instant[]
  readonly #decided = new Set<number>()

  constructor(due: readonly Instant[]) {
    this.#due = due
  }

  take({ fires, missed, missedFromMs, missedToMs, cursorToMs }: Plan): void {
    const fired = fires.map(({ atMs }) => atMs)
    const left = this.#due
      .map(({ atMs }) => atMs)
      .filter(atMs => atMs >= (missedFromMs ?? Infinity) && atMs <= (missedToMs ?? -Infinity))
      .filter(atMs => !fired.includes(atMs))
    expect(left.length, 'the instants left behind are as many as the plan counts').toBe(missed)
    const decided = [...fired, ...left]
    expect(
      decided.filter(atMs => this.#decided.has(atMs)),
      'none is decided about twice',
    ).toEqual([])
    for (const atMs of decided) this.#decided.add(atMs)
    const owed = this.#due.filter(({ atMs }) => atMs >= (cursorToMs ?? Infinity))
    expect(this.#decided.size + owed.length, 'no instant is lost').toBe(this.#due.length)
  }
}

describe.each(['all', 'latest', 'skip'] as const)(
  'a schedule that answers missed instants with %s',
  missed => {
    it('decides about each instant once, as the table says, whenever its ticks come', () =>
      fc.assert(
        fc.property(scenarios, ({ window: index, recurrence, startMs, endMs, ticks, ...limits }) => {
          const window = windows[index]
          if (window === undefined) return
          const { zone, changeMs, fromMs, untilMs, clock } = window
          // It ends within what was read: what comes after the last tick is known, too.
          const bounds = { startAtMs: null, endAtMs: fromMs + endMs }
          const owing = recurrenceOf({ recurrence, timezone: zone, ...bounds })
          let cursorMs: number | null = fromMs + startMs
          let asOfMs = fromMs
          const due = dueInstants({ recurrence, ...bounds }, clock, cursorMs, untilMs)
          const ledger = new Ledger(due)
          for (const { since, lateMs } of ticks) {
            const origin = { cursor: cursorMs, tick: asOfMs, change: changeMs }[since]
            asOfMs = Math.min(Math.max(asOfMs, origin + lateMs), untilMs)
            const decided = plan({ recurrence: owing, cursorMs, missed }, { asOfMs, ...limits })
            expect(decided).toEqual(tableSays(due, missed, cursorMs, { asOfMs, ...limits }))
            ledger.take(decided)
            cursorMs = decided.cursorToMs
            if (cursorMs === null) return
          }
        }),
        { seed, numRuns: runsPerAnswer },
      ))
  },
)
