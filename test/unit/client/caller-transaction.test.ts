import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { callerTransaction } from '../../../shared/client/caller-transaction.ts'

describe("the caller's transaction", () => {
  it('is anything with a query function, a class of another driver included', () => {
    class Client {
      query = async () => ({ rows: [] })
    }
    const given = [new Client(), { query: async () => ({ rows: [] }) }, new pg.Client()]
    expect(given.map(callerTransaction)).toEqual(given)
  })

  it.each([null, undefined, 'tx', 7, {}, { query: 'select 1' }, () => 1])(
    'is refused where it is %o',
    given => {
      expect(() => callerTransaction(given)).toThrow(
        expect.objectContaining({ code: 'OPTION_INVALID', field: 'tx' }),
      )
    },
  )

  it('is no pool, which would run each statement anywhere', () => {
    expect(() => callerTransaction(new pg.Pool())).toThrow(/pool/)
  })
})
