import { describe, expect, expectTypeOf, it } from 'vitest'
import * as z from 'zod'
import { defineActor } from '../../../shared/client/define-actor.ts'
import type { InvalidInputError } from '../../../shared/core/errors.ts'

const payload = z.object({ orderId: z.string() })

/** Where a definition was refused. */
function fieldOf(definition: unknown): string | undefined {
  try {
    defineActor(definition as never)
    return 'accepted'
  } catch (error) {
    expect(error).toMatchObject({ code: 'OPTION_INVALID' })
    return (error as InvalidInputError).field
  }
}

describe('a definition', () => {
  it('has the defaults that the contract names', () => {
    expect(defineActor({ name: 'send-receipt', payload })).toMatchObject({
      name: 'send-receipt',
      queue: 'default',
      retry: {
        kind: 'transient',
        backoff: 'exponential',
        baseSeconds: 2,
        capSeconds: 3600,
        jitter: 0.2,
        maxAttempts: 5,
      },
    })
  })

  it('reads durations as seconds', () => {
    const { retry } = defineActor({
      name: 'a',
      payload,
      retry: { base: '500ms', cap: '10m', maxAttempts: 8 },
    })
    expect(retry).toMatchObject({ baseSeconds: 0.5, capSeconds: 600, maxAttempts: 8, jitter: 0.2 })
  })

  it('is frozen, and so is what a worker gets of it', () => {
    const actor = defineActor({ name: 'a', payload })
    expect([actor, actor.retry, actor.run(() => 1)].every(Object.isFrozen)).toBe(true)
  })

  it('types its handler by what the schema puts out', () => {
    const actor = defineActor({
      name: 'a',
      payload: z.object({ at: z.codec(z.string(), z.date(), dateCodec) }),
    })
    actor.run(({ at }, context) => {
      expectTypeOf(at).toEqualTypeOf<Date>()
      expectTypeOf(context.attempt).toEqualTypeOf<number>()
    })
    expectTypeOf<Parameters<typeof actor.run>[0]>().parameter(0).toEqualTypeOf<{ at: Date }>()
  })

  it.each([
    ['name', { payload }],
    ['name', { name: '', payload }],
    ['name', { name: 'a\u0000b', payload }],
    ['name', { name: 'é'.repeat(128), payload }],
    ['name', { name: null, payload }],
    ['queue', { name: 'a', queue: '', payload }],
    ['queue', { name: 'a', queue: null, payload }],
    ['payload', { name: 'a' }],
    ['payload', { name: 'a', payload: { parse: () => 1 } }],
    ['singleton', { name: 'a', payload, singleton: true }],
    ['retry', { name: 'a', payload, retry: null }],
    ['retry.base', { name: 'a', payload, retry: { base: '2' } }],
    ['retry.base', { name: 'a', payload, retry: { base: '366d', cap: '366d' } }],
    ['retry.cap', { name: 'a', payload, retry: { base: '2m', cap: '1m' } }],
    ['retry.kind', { name: 'a', payload, retry: { kind: 'sometimes' } }],
    ['retry.backoff', { name: 'a', payload, retry: { backoff: null } }],
    ['retry.jitter', { name: 'a', payload, retry: { jitter: 1.1 } }],
    ['retry.jitter', { name: 'a', payload, retry: { jitter: Number.NaN } }],
    ['retry.jitter', { name: 'a', payload, retry: { jitter: null } }],
    ['retry.maxAttempts', { name: 'a', payload, retry: { maxAttempts: 0 } }],
    ['retry.maxAttempts', { name: 'a', payload, retry: { maxAttempts: 1.5 } }],
    ['retry.maxAttempts', { name: 'a', payload, retry: { maxAttempts: 1_000_001 } }],
    ['retry.attempts', { name: 'a', payload, retry: { attempts: 3 } }],
  ])('is refused at %s (C20)', (field, definition) => {
    expect(fieldOf(definition)).toBe(field)
  })

  it.each([
    { jitter: 0 },
    { jitter: 1 },
    { maxAttempts: 1 },
    { maxAttempts: 1_000_000 },
    { base: '0' as const },
  ])('is accepted at the bound %o', retry => {
    expect(fieldOf({ name: 'a', payload, retry })).toBe('accepted')
  })

  it('takes no handler that is no function', () => {
    expect(() => defineActor({ name: 'a', payload }).run(undefined as never)).toThrow(/handler/)
  })
})

const dateCodec = { decode: (text: string) => new Date(text), encode: (date: Date) => date.toISOString() }
