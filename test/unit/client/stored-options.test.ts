import { describe, expect, it } from 'vitest'
import { checkKey, storedOptions } from '../../../shared/client/stored-options.ts'
import type { InvalidInputError } from '../../../shared/core/errors.ts'

const accepted = (options: object) => storedOptions(options, ['tx', 'idempotencyKey'])

function refusal(options: object): Pick<InvalidInputError, 'code' | 'field'> {
  try {
    accepted(options)
  } catch (error) {
    const { code, field } = error as InvalidInputError
    return { code, field }
  }
  throw new Error('was accepted')
}

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

describe('options', () => {
  it('are stored as insert_jobs reads them, what is undefined left out', () => {
    const runAt = new Date('2030-01-02T03:04:05.678Z')
    expect(
      accepted({
        queue: 'mail',
        runAt,
        priority: -5,
        scheduleToClose: '1h',
        startToClose: '90s',
        heartbeatTimeout: '1s',
        tags: ['a', 'b'],
        metadata: { source: 'import' },
        fairnessKey: 'tenant-7',
        traceparent,
        idempotencyScope: 'orders',
        delay: undefined,
      }),
    ).toEqual({
      queue: 'mail',
      runAt: '2030-01-02T03:04:05.678Z',
      priority: -5,
      scheduleToCloseMs: 3_600_000,
      startToCloseMs: 90_000,
      heartbeatTimeoutMs: 1000,
      tags: ['a', 'b'],
      metadata: { source: 'import' },
      fairnessKey: 'tenant-7',
      traceparent,
      scope: 'orders',
    })
  })

  it.each([
    'queue',
    'delay',
    'runAt',
    'priority',
    'idempotencyScope',
    'scheduleToClose',
    'startToClose',
    'heartbeatTimeout',
    'tags',
    'metadata',
    'fairnessKey',
    'traceparent',
  ])('refuse null for %s: it is not the same as leaving it out (C20)', field => {
    expect(refusal({ [field]: null })).toEqual({ code: 'OPTION_INVALID', field })
  })

  it.each(['identityKey', 'uniqueFor', 'batch', 'resultTtl', 'dealy', 'toString', '__proto__'])(
    'refuse %s, which does nothing',
    field => {
      const options = Object.defineProperty({}, field, { value: '1m', enumerable: true })
      expect(refusal(options)).toEqual({ code: 'OPTION_INVALID', field })
    },
  )

  it.each([
    ['queue', ''],
    ['queue', 'a'.repeat(256)],
    ['queue', 'a\nb'],
    ['delay', '5'],
    ['delay', 5],
    ['delay', '-5s'],
    ['delay', '3651d'],
    ['runAt', '2030-01-01'],
    ['runAt', new Date(Number.NaN)],
    ['runAt', new Date('+010000-01-01T00:00:00Z')],
    ['runAt', new Date('1969-12-31T23:59:59Z')],
    ['priority', 1.5],
    ['priority', 2 ** 31],
    ['priority', -(2 ** 31)],
    ['priority', '1'],
    ['idempotencyScope', 'é'.repeat(128)],
    ['scheduleToClose', '0'],
    ['startToClose', '0'],
    ['heartbeatTimeout', '999ms'],
    ['tags', 'a'],
    ['tags[1]', ['a', '']],
    ['tags', Array.from({ length: 101 }, () => 'a')],
    ['metadata', []],
    ['metadata', { a: 1n }],
    ['metadata', { a: 'a'.repeat(16_384) }],
    ['fairnessKey', ''],
    ['fairnessKey', 'a'.repeat(1025)],
    ['traceparent', '00-abc-def-01'],
  ])('refuse %s = %o', (field, value) => {
    expect(refusal({ [field.replace(/\[.*/, '')]: value })).toEqual({ code: 'OPTION_INVALID', field })
  })

  it.each([
    ['queue', 'a\u0000'],
    ['idempotencyScope', '\ud800'],
    ['fairnessKey', '\u0000'],
    ['tags[0]', ['\u0000']],
    ['metadata.a', { a: '\u0000' }],
  ])('refuse what Postgres cannot store in %s', (field, value) => {
    expect(refusal({ [field.replace(/[[.].*/, '')]: value })).toEqual({ code: 'TEXT_INVALID', field })
  })

  it.each([
    { delay: '0' },
    { delay: '3650d' },
    { priority: 2 ** 31 - 1 },
    { priority: 0 },
    { tags: [] },
    { metadata: {} },
    { idempotencyScope: '' },
    { idempotencyScope: 'a'.repeat(255) },
    { fairnessKey: 'a'.repeat(1024) },
    { runAt: new Date('9999-12-31T23:59:59Z') },
  ])('accept the bound %j', options => {
    expect(() => accepted(options)).not.toThrow()
  })

  it('refuse two due times, and a job that would be too late before it is due', () => {
    expect(refusal({ delay: '1m', runAt: new Date(0) }).field).toBe('runAt')
    expect(refusal({ delay: '1m', scheduleToClose: '1m' }).field).toBe('scheduleToClose')
    expect(accepted({ delay: '1m', scheduleToClose: '61s' })).toMatchObject({ delayMs: 60_000 })
  })

  it.each([null, 'a', 7, []])('are an object, not %j', options => {
    expect(refusal(options as never)).toEqual({ code: 'OPTION_INVALID', field: 'options' })
  })
})

describe('a key', () => {
  it('is limited in bytes, not characters (B116)', () => {
    expect(checkKey('idempotencyKey', 'é'.repeat(5), 10)).toBe('é'.repeat(5))
    expect(() => checkKey('idempotencyKey', 'é'.repeat(5), 9)).toThrow(/10 bytes/)
  })

  it.each(['', null, 7])('is a text that says something, not %j', value => {
    expect(() => checkKey('idempotencyKey', value, 10)).toThrow(/idempotencyKey/)
  })
})
