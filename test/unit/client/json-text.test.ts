import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jsonDepthMax, jsonText, unstorableReason } from '../../../shared/client/json-text.ts'

/** A value of so many arrays, one in another. */
function nested(levels: number): unknown {
  return Array.from({ length: levels }).reduce(inner => [inner], null)
}

describe('a value as JSON', () => {
  it('is the text that JSON.stringify makes, whatever storable value it is', () => {
    const storable = fc
      .jsonValue({ stringUnit: 'binary' })
      .filter(value => !/\\u0000/.test(JSON.stringify(value)))
    fc.assert(
      fc.property(storable, value => {
        expect(jsonText(value)).toEqual({ ok: true, text: JSON.stringify(value) })
      }),
    )
  })

  it('is refused wherever NUL or half a pair stands, and only there', () => {
    const bad = fc.constantFrom('\u0000', '\ud800', '\udfff', 'a\u0000', '\udc00\ud800')
    const good = fc.constantFrom('\\u0000', '\\\\u0000', '\\ud800', '😀', '\\', '"\\u0000"', '\u0001')
    fc.assert(
      fc.property(fc.array(fc.oneof(bad, good)), fc.array(good), (texts, keys) => {
        const value = { texts, ...Object.fromEntries(keys.map(key => [key, 1])) }
        expect(jsonText(value).ok).toBe(texts.every(text => unstorableReason(text) === undefined))
      }),
    )
  })

  it.each([
    [{ a: [{ b: 'x\u0000' }] }, '.a[0].b', 'holds a NUL character'],
    [{ a: { 'k\u0000': 1 } }, '.a', 'has a key that holds a NUL character'],
    ['\ud83d', '', 'holds half a surrogate pair'],
    [['ok', '\udc00'], '[1]', 'holds half a surrogate pair'],
  ])('says where an unstorable text stands: %j', (value, path, reason) => {
    expect(jsonText(value)).toEqual({ ok: false, kind: 'unstorable', path, reason })
  })

  it.each([
    ['a BigInt', { secret: 123456789n }],
    ['a cycle', Object.assign({}, { self: undefined }) as Record<string, unknown>],
    ['a throwing toJSON', { toJSON: () => fail('123456789') }],
    ['undefined', undefined],
    ['a function', () => 1],
    ['a symbol', Symbol('123456789')],
  ])('is refused as unserializable: %s, without quoting it', (name, value) => {
    if (name === 'a cycle') (value as Record<string, unknown>)['self'] = value
    const json = jsonText(value)
    expect(json).toMatchObject({ ok: false, kind: 'unserializable', path: '' })
    expect(JSON.stringify(json)).not.toContain('123456789')
  })

  it('may be nested up to the bound, and no deeper, brackets in texts not counted', () => {
    expect(jsonText(nested(jsonDepthMax)).ok).toBe(true)
    expect(jsonText(nested(jsonDepthMax + 1))).toMatchObject({ ok: false, kind: 'unserializable' })
    expect(jsonText(nested(1_000_000))).toMatchObject({ ok: false, kind: 'unserializable' })
    expect(jsonText(['['.repeat(5000), '\\"['.repeat(5000), '{"'.repeat(5000)]).ok).toBe(true)
  })
})

function fail(message: string): never {
  throw new Error(message)
}
