import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { byteLength, checkName, isSchemaName, lockName } from '../../../shared/core/names.ts'
import { isLegalMove, jobStatuses, legalMoves, terminalStatuses } from '../../../shared/core/states.ts'
import { storableError, storableText } from '../../../shared/core/text.ts'

const bytes = (text: string) => new TextEncoder().encode(text).length

describe('text that was derived from an error', () => {
  it('is storable whatever it was: no NUL, no torn character, within its bytes (B073)', () =>
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 300 }),
        fc.integer({ min: 10, max: 200 }),
        (text, max) => {
          const stored = storableText(text, max)
          expect(stored).not.toContain('\u0000')
          expect(bytes(stored)).toBeLessThanOrEqual(max)
          expect(stored.isWellFormed()).toBe(true)
        },
      ),
    ))

  it('shows where the NUL was', () => expect(storableText('a\u0000b', 100)).toBe('a\\x00b'))

  it('keeps a text that fits as it is', () => expect(storableText('größer', 8)).toBe('größer'))

  it('comes from anything that can be thrown', () => {
    const hostile = {
      toString: () => {
        throw new Error('no')
      },
    }
    expect(storableError(new TypeError('bad'))).toMatchObject({ errorClass: 'TypeError', message: 'bad' })
    expect(storableError('text')).toEqual({ errorClass: 'NonError', message: 'text', stack: null })
    expect(storableError(undefined)).toMatchObject({ message: 'undefined' })
    expect(storableError(hostile)).toMatchObject({ errorClass: 'UnreadableError' })
    expect(storableError(Object.create(null))).toMatchObject({ errorClass: 'UnreadableError' })
  })
})

describe('names', () => {
  it('count bytes as Postgres does', () =>
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), text => {
        expect(byteLength(text)).toBe(bytes(text))
      }),
    ))

  it('carry the schema in every lock (B150)', () =>
    expect(lockName('expired_locks', 'staging')).toBe('taskq:expired_locks:staging'))

  it.each(['', 'a'.repeat(256), 'new\nline', 'nul\u0000'])('%j is none', name =>
    expect(() => checkName('queue', name)).toThrow(expect.objectContaining({ field: 'queue' })),
  )

  it('of schemas need no quoting', () => {
    expect(['taskq', '_a1', 'a'.repeat(48)].every(isSchemaName)).toBe(true)
    expect(['', '1a', 'A', 'a b', 'pg_toast', 'a'.repeat(49), 'a\n'].some(isSchemaName)).toBe(false)
  })
})

describe('states', () => {
  it('only a redrive leaves a terminal state', () => {
    const out = legalMoves.filter(([from]) => (terminalStatuses as readonly string[]).includes(from))
    expect(out.map(([, to]) => to)).toEqual(['pending', 'pending', 'pending'])
  })

  it('no state moves to itself, and a pair is listed once', () => {
    for (const status of jobStatuses) expect(isLegalMove(status, status)).toBe(false)
    expect(new Set(legalMoves.map(move => move.join('>'))).size).toBe(legalMoves.length)
  })
})
