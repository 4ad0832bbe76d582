import type { StandardSchemaV1 } from '@standard-schema/spec'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { payloadText } from '../../../shared/client/payload.ts'

const order = z.object({ orderId: z.uuid(), lines: z.array(z.object({ sku: z.string() })) })

/** A schema of another library's, with one answer. */
function schemaSaying(result: StandardSchemaV1.Result<unknown>, isAsync = false): StandardSchemaV1 {
  const validate = () => (isAsync ? Promise.resolve(result) : result)
  return { '~standard': { version: 1, vendor: 'test', validate } }
}

const refusal = (payload: unknown, schema?: StandardSchemaV1, bytesMax = 1000) =>
  payloadText('payload', payload, schema, bytesMax).catch(error => error)

describe('a payload', () => {
  it('is stored as the input that was validated, not as what the schema makes of it', async () => {
    const trimmed = z.object({ name: z.string().transform(text => text.trim()) })
    expect(await payloadText('payload', { name: ' Ada ' }, trimmed, 100)).toBe('{"name":" Ada "}')
  })

  it('is refused by its schema with the path of the field and without its value (B075)', async () => {
    const error = await refusal({ orderId: 'secret-order', lines: [{ sku: 7 }] }, order)
    expect(error).toMatchObject({ code: 'PAYLOAD_INVALID', field: 'payload.orderId' })
    expect(error.message).not.toContain('secret-order')
  })

  it('is refused without the message of a library that quotes values (B075)', async () => {
    const issues = [{ message: 'must be a number (was "4111-1111")', path: ['card', { key: 0 }] }]
    const error = await refusal({ card: ['4111-1111'] }, schemaSaying({ issues }))
    expect(error).toMatchObject({
      field: 'payload.card[0]',
      message: 'payload.card[0]: does not fit the schema',
    })
  })

  it('may be validated asynchronously', async () => {
    const issues = [{ message: 'is taken' }]
    expect(await refusal({}, schemaSaying({ issues }, true))).toMatchObject({ message: 'payload: is taken' })
    expect(await payloadText('payload', {}, schemaSaying({ value: 1 }, true), 10)).toBe('{}')
  })

  it('is validated as its worker will read it: a Date is a text by then', async () => {
    const error = await refusal({ at: new Date(0) }, z.object({ at: z.date() }))
    expect(error).toMatchObject({ code: 'PAYLOAD_INVALID', field: 'payload.at' })
  })

  it('may be as large as the limit in bytes, not in characters', async () => {
    expect(await refusal('é'.repeat(5), undefined, 12)).toBe(`"${'é'.repeat(5)}"`)
    expect(await refusal('é'.repeat(5), undefined, 11)).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      field: 'payload',
    })
  })

  it('is checked in the order schema, size, NUL (C17)', async () => {
    const text = z.object({ note: z.string() })
    const bad = { note: '\u0000'.repeat(100), other: 1 }
    expect(await refusal({ note: 1 }, text, 5)).toMatchObject({ code: 'PAYLOAD_INVALID' })
    expect(await refusal(bad, text, 5)).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
    expect(await refusal(bad, text)).toMatchObject({ code: 'TEXT_INVALID', field: 'payload.note' })
  })

  it.each([undefined, 1n, () => 1])('that is not JSON is invalid: %s', async value => {
    expect(await refusal(value)).toMatchObject({ code: 'PAYLOAD_INVALID', field: 'payload' })
  })

  it('names a key with NUL by its parent, storably', async () => {
    expect(await refusal({ a: { 'b\u0000': 1 } })).toMatchObject({ code: 'TEXT_INVALID', field: 'payload.a' })
  })
})
