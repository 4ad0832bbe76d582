import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { defineActor } from '../../../shared/client/define-actor.ts'
import { chunkBounds, prepareJobs } from '../../../shared/client/prepare-jobs.ts'
import { settingsWith } from '../../support/sweeping.ts'

describe('chunks', () => {
  it('cover all texts in order, within both bounds unless one text alone is too large', () => {
    const texts = fc.array(fc.string({ maxLength: 30, unit: 'binary' }), { maxLength: 60 })
    fc.assert(
      fc.property(
        texts,
        fc.integer({ min: 1, max: 9 }),
        fc.integer({ min: 1, max: 60 }),
        (all, rows, bytes) => {
          const chunks = chunkBounds(all, rows, bytes).map(([from, to]) => all.slice(from, to))
          expect(chunks.flat()).toEqual(all)
          for (const chunk of chunks) {
            const size = chunk.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
            expect(chunk.length).toBeGreaterThan(0)
            expect(chunk.length).toBeLessThanOrEqual(rows)
            expect(size <= bytes || chunk.length === 1).toBe(true)
          }
        },
      ),
    )
  })
})

const actor = defineActor({ name: 'a', payload: z.object({ n: z.number() }) })
let made = 0
const prepare = (payloads: unknown, options: object = {}) =>
  prepareJobs(actor, payloads as never, options, () => `id-${made++}`, settingsWith()).catch(error => error)

describe('many jobs of one call', () => {
  it('are refused at the first payload that is wrong, named by its place', async () => {
    const error = await prepare([{ n: 1 }, { n: 'two' }])
    expect(error).toMatchObject({ code: 'PAYLOAD_INVALID', field: 'payloads[1].n' })
  })

  it('have each the key that a function makes of its payload', async () => {
    const { chunks } = await prepare([{ n: 1 }, { n: 2 }], {
      idempotencyKey: ({ n }: { n: number }) => `k${n}`,
    })
    expect(chunks).toMatchObject([{ keys: ['k1', 'k2'], payloads: ['{"n":1}', '{"n":2}'] }])
  })

  it('are refused where a key is wrong or no function makes them', async () => {
    expect(await prepare([{ n: 1 }], { idempotencyKey: 'k' })).toMatchObject({ field: 'idempotencyKey' })
    expect(await prepare([{ n: 1 }], { idempotencyKey: () => '' })).toMatchObject({
      field: 'idempotencyKey[0]',
    })
    expect(await prepare([{ n: 1 }], { idempotencyKey: () => 'k\u0000' })).toMatchObject({
      code: 'TEXT_INVALID',
    })
  })

  it('are a list', async () => {
    expect(await prepare({ length: 1 })).toMatchObject({ code: 'PAYLOAD_INVALID', field: 'payloads' })
    expect(await prepare([])).toMatchObject({ chunks: [] })
  })

  it('have a scope only beside keys', async () => {
    expect(await prepare([{ n: 1 }], { idempotencyScope: 's' })).toMatchObject({ field: 'idempotencyScope' })
  })
})
