import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { defineActor } from '../../../shared/client/define-actor.ts'
import type { InvalidInputError } from '../../../shared/core/errors.ts'
import { checkOptions, newIdentity } from '../../../shared/worker/options.ts'

const actor = (name: string, queue = 'default') => defineActor({ name, queue, payload: z.any() })
const mail = actor('send-mail', 'mail').run(() => 1)
const bill = actor('send-bill', 'mail').run(() => 1)
const other = actor('other').run(() => 1)
const settings = { maxConcurrency: 8, queues: [] }

function fieldOf(options: unknown): string | undefined {
  try {
    checkOptions(options as never, settings)
    return 'accepted'
  } catch (error) {
    expect(error).toMatchObject({ code: 'OPTION_INVALID' })
    return (error as InvalidInputError).field
  }
}

describe("a worker's options", () => {
  it('are by default the queues of its actors, each once, and the concurrency of the settings', () => {
    expect(checkOptions({ actors: [mail, bill, other] }, settings)).toMatchObject({
      queues: ['mail', 'default'],
      concurrency: 8,
    })
  })

  it('take the queues of the settings before those of its actors, and its own before both', () => {
    const said = { ...settings, queues: ['bulk', 'mail'] }
    expect(checkOptions({ actors: [mail] }, said).queues).toEqual(['bulk', 'mail'])
    expect(checkOptions({ actors: [mail], queues: ['own'] }, said).queues).toEqual(['own'])
  })

  it.each([
    ['actors', {}],
    ['actors', { actors: [] }],
    ['actors[1]', { actors: [mail, actor('other')] }],
    ['actors[1]', { actors: [mail, null] }],
    ['actors[2]', { actors: [mail, other, mail] }],
    ['options', null],
    ['queues', { actors: [mail], queues: [] }],
    ['queues', { actors: [mail], queues: 'mail' }],
    ['actors[0].name', { actors: [{ ...mail, name: 5 }] }],
    ['queues[1]', { actors: [mail], queues: ['a', ''] }],
    ['queues[0]', { actors: [mail], queues: [7] }],
    ['concurrency', { actors: [mail], concurrency: 0 }],
    ['concurrency', { actors: [mail], concurrency: 1.5 }],
    ['concurrency', { actors: [mail], concurrency: 10_001 }],
    ['concurrency', { actors: [mail], concurrency: '8' }],
  ])('are refused at %s (C20)', (field, options) => {
    expect(fieldOf(options)).toBe(field)
  })

  it.each([1, 10_000])('may run %i handlers at a time', concurrency => {
    expect(fieldOf({ actors: [mail], concurrency })).toBe('accepted')
  })
})

describe('a worker', () => {
  it('has an id that no other has, and a name that can be stored whatever the host is called', () => {
    const [first, second] = [1, 2].map(() => newIdentity('process', 'a\u0000b', 'x'.repeat(300), ['q']))
    expect(first).toMatchObject({ kind: 'process', hostname: 'a\\x00b', queues: ['q'] })
    expect(Buffer.byteLength(first?.name ?? '')).toBeLessThanOrEqual(255)
    expect(first?.workerId).not.toBe(second?.workerId)
  })
})
