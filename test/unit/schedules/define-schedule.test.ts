import { describe, expect, expectTypeOf, it } from 'vitest'
import * as z from 'zod'
import { defineActor } from '../../../shared/client/define-actor.ts'
import type { InvalidInputError } from '../../../shared/core/errors.ts'
import { defineSchedule, type ScheduleOptions } from '../../../shared/schedules/define-schedule.ts'
import { schedulesIn } from '../../../shared/schedules/schedules-in.ts'

const post = defineActor({ name: 'post', payload: z.object({ n: z.number() }) })
const intent = { missed: 'latest', onOpen: 'supersede' } as const
const daily = { name: 'daily', actor: post, cron: '0 7 * * *', intent, payload: { n: 1 } } as const

/** Where a definition was refused. */
function fieldOf(definition: unknown): string | undefined {
  try {
    defineSchedule(definition as never)
    return 'accepted'
  } catch (error) {
    expect(error).toMatchObject({ code: 'OPTION_INVALID' })
    return (error as InvalidInputError).field
  }
}

/** The definition without some options, and with others. */
function changed(without: readonly string[], more: object = {}): object {
  const kept = Object.entries(daily).filter(([name]) => !without.includes(name))
  return { ...Object.fromEntries(kept), ...more }
}

describe('a schedule', () => {
  it('is frozen, has the default zone, and is itself the options of an equal one', () => {
    const schedule = defineSchedule(daily)
    expect(schedule).toEqual({ ...daily, timezone: 'UTC' })
    expect([schedule, schedule.intent].every(Object.isFrozen)).toBe(true)
    expect(defineSchedule(schedule)).toEqual(schedule)
  })

  it('is not changed through what it was made of', () => {
    const answers: { missed: 'latest' | 'skip'; onOpen: 'skip' } = { missed: 'latest', onOpen: 'skip' }
    const schedule = defineSchedule({ ...daily, intent: answers })
    answers.missed = 'skip'
    expect(schedule.intent).toEqual({ missed: 'latest', onOpen: 'skip' })
  })

  it.each([
    { deliverable: {} },
    { intent: { missed: 'skip', onOpen: 'skip' } },
    { every: '1s' },
    { every: '365d' },
    { cron: '@daily', timezone: 'Europe/Berlin' },
    { payload: null, actor: defineActor({ name: 'any', payload: z.any() }) },
    { payloadFactory: 'todays-topic' },
    { startAt: new Date(0), endAt: new Date('2999-01-01') },
    { smear: '0' },
    { smear: '1d' },
    { maxUnclaimedAge: '1ms' },
    { queue: 'mail', timezone: undefined, endAt: undefined },
  ])('may be %o', more => {
    const replaced = { deliverable: 'intent', every: 'cron', payloadFactory: 'payload' }
    const without = Object.entries(replaced).flatMap(([one, other]) => (one in more ? [other] : []))
    expect(fieldOf(changed(without, more))).toBe('accepted')
  })

  it.each([
    ['schedule', null],
    ['schedule', [daily]],
    ['name', changed(['name'])],
    ['name', changed([], { name: '' })],
    ['name', changed([], { name: 'a\ud800' })],
    ['actor', changed(['actor'])],
    ['actor', changed([], { actor: 'post' })],
    ['actor', changed([], { actor: post.run(() => 1) })],
    ['cron', changed(['cron'])],
    ['cron', changed([], { cron: '61 * * * *' })],
    ['cron', changed([], { cron: '0 0 31 2 *' })],
    ['cron', changed([], { cron: 'every 15m' })],
    ['cron', changed([], { cron: null })],
    ['every', changed([], { every: '15m' })],
    ['every', changed(['cron'], { every: 'weekly' })],
    ['every', changed(['cron'], { every: '15' })],
    ['every', changed(['cron'], { every: '500ms' })],
    ['every', changed(['cron'], { every: '366d' })],
    ['every', changed(['cron'], { every: 900 })],
    ['timezone', changed([], { timezone: 'Berlin' })],
    ['timezone', changed([], { timezone: '+02:00' })],
    ['timezone', changed([], { timezone: null })],
    ['intent', changed(['intent'])],
    ['intent', changed([], { intent: 'latest' })],
    ['intent.missed', changed([], { intent: {} })],
    ['intent.missed', changed([], { intent: { missed: 'all', onOpen: 'skip' } })],
    ['intent.onOpen', changed([], { intent: { missed: 'skip' } })],
    ['intent.onOpen', changed([], { intent: { missed: 'skip', onOpen: 'add' } })],
    ['intent.because', changed([], { intent: { ...intent, because: 'so' } })],
    ['deliverable', changed([], { deliverable: {} })],
    ['deliverable', changed(['intent'], { deliverable: true })],
    ['deliverable.missed', changed(['intent'], { deliverable: { missed: 'all' } })],
    ['missed', changed([], { missed: 'latest' })],
    ['payload', changed(['payload'])],
    ['payloadFactory', changed([], { payloadFactory: 'a' })],
    ['payloadFactory', changed(['payload'], { payloadFactory: () => 1 })],
    ['queue', changed([], { queue: '' })],
    ['queue', changed([], { queue: null })],
    ['maxUnclaimedAge', changed([], { maxUnclaimedAge: '0' })],
    ['maxUnclaimedAge', changed([], { maxUnclaimedAge: '3651d' })],
    ['maxUnclaimedAge', changed([], { maxUnclaimedAge: null })],
    ['startAt', changed([], { startAt: '2026-01-01' })],
    ['startAt', changed([], { startAt: new Date(Number.NaN) })],
    ['startAt', changed([], { startAt: new Date(-1) })],
    ['endAt', changed([], { startAt: new Date(5), endAt: new Date(5) })],
    ['endAt', changed([], { startAt: new Date(0), endAt: new Date(1000) })],
    ['smear', changed([], { smear: '25h' })],
    ['paused', changed([], { paused: true })],
  ])('is refused at %s', (field, definition) => {
    expect(fieldOf(definition)).toBe(field)
  })

  it('types its payload by the actor, and refuses a definition that leaves an answer out', () => {
    expectTypeOf(defineSchedule<typeof post.payload>)
      .parameter(0)
      .toMatchTypeOf<{ name: string }>()
    const { intent: _, ...unanswered } = daily
    const wrong: unknown[] = [
      // @ts-expect-error: a text is no number.
      () => defineSchedule({ ...daily, payload: { n: 'one' } }),
      // @ts-expect-error: nothing says what a missed run means.
      () => defineSchedule(unanswered),
      // @ts-expect-error: both shapes at once.
      () => defineSchedule({ ...daily, deliverable: {} }),
      // @ts-expect-error: a deliverable has no answers.
      () => defineSchedule({ ...unanswered, deliverable: { missed: 'all' } }),
      // @ts-expect-error: an intent's second answer has no default.
      () => defineSchedule({ ...daily, intent: { missed: 'latest' } }),
      // @ts-expect-error: an intent's first answer has no default.
      () => defineSchedule({ ...daily, intent: { onOpen: 'skip' } }),
      // @ts-expect-error: an intent does not fire all.
      () => defineSchedule({ ...daily, intent: { missed: 'all', onOpen: 'skip' } }),
      // @ts-expect-error: a calendar and an interval.
      () => defineSchedule({ ...daily, every: '15m' }),
      // @ts-expect-error: a payload and a factory.
      () => defineSchedule({ ...daily, payloadFactory: 'a' }),
      // @ts-expect-error: the pager cannot be off.
      () => defineSchedule({ ...daily, maxUnclaimedAge: null }),
      // @ts-expect-error: the actor comes with its definition.
      () => defineSchedule({ ...daily, actor: 'post' }),
    ]
    expect(wrong).toHaveLength(11)
  })
})

describe('a definitions module', () => {
  const [one, other] = [defineSchedule(daily), defineSchedule({ ...daily, name: 'other' })]

  it('exports its schedules as an array or as an object, or none', () => {
    expect(schedulesIn({ schedules: [one, other] })).toEqual([one, other])
    expect(schedulesIn({ schedules: { one, other } })).toEqual([one, other])
    expect(schedulesIn({ actors: [] })).toEqual([])
    expect(schedulesIn(undefined)).toEqual([])
  })

  it.each([
    ['schedules', 1],
    ['schedules[1]', [one, undefined]],
    ['schedules[1]', [one, one]],
    ['schedules.a', { a: 'daily' }],
    ['schedules.a.cron', { a: { ...one, cron: '* *' } as ScheduleOptions }],
  ])('is refused at %s', (field, schedules) => {
    expect(() => schedulesIn({ schedules })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', field }),
    )
  })
})
