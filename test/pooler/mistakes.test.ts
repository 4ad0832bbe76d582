import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { openDatabase, type TestDatabase } from '../support/database.ts'

/**
 * What goes wrong behind a pooler in transaction mode, made on purpose, so that it is known which mistakes
 * the suite of this mode would meet. A pool hands out the session that was given back last, and opens its
 * second one only while that is taken: who holds a transaction open decides where the others land.
 */
const opened: pg.Client[] = []

async function connect(database: TestDatabase, config: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url, ...config })
  client.on('error', () => undefined)
  opened.push(client)
  await client.connect()
  return client
}

afterEach(async () => {
  for (const client of opened.splice(0)) await client.end()
})

/** Each mistake has a pool of its own, which it may spoil. */
const pooled = (check: (database: TestDatabase) => Promise<void>) => async () => {
  const database = await openDatabase()
  await check(database).finally(() => database.close())
}

const answer = async (client: pg.Client, text: string) =>
  Object.values((await client.query(text)).rows[0] as object)[0] as unknown

describe('a session lock behind a pooler', () => {
  const lock = 'select pg_try_advisory_lock(7)'
  const unlock = 'select pg_advisory_unlock(7)'
  const locks = (database: TestDatabase) =>
    database.rows(`select pid from pg_locks where locktype = 'advisory' and objid = 7
      and database = (select oid from pg_database where datname = current_database())`)

  it(
    'excludes nobody: two clients hold it at once',
    pooled(async database => {
      const [one, two] = [await connect(database), await connect(database)]
      expect([await answer(one, lock), await answer(two, lock)]).toEqual([true, true])
    }),
  )

  it(
    'is not given back by its own client, which lands elsewhere',
    pooled(async database => {
      const [one, two] = [await connect(database), await connect(database)]
      expect(await answer(one, lock)).toBe(true)
      await two.query('begin')
      expect(await answer(one, unlock)).toBe(false)
    }),
  )

  it(
    'outlives its client, and locks everybody else out',
    pooled(async database => {
      const one = await connect(database)
      expect(await answer(one, lock)).toBe(true)
      await one.end()
      await expect.poll(() => locks(database)).toHaveLength(1)
      const other = await database.client()
      expect(await answer(other, lock)).toBe(false)
    }),
  )
})

describe('a session setting behind a pooler', () => {
  it(
    'is the next client’s, and not its own any more',
    pooled(async database => {
      const [one, two] = [await connect(database), await connect(database)]
      await one.query(`set statement_timeout = '777ms'`)
      expect(await answer(two, 'show statement_timeout')).toBe('777ms')
      await two.query('begin')
      expect(await answer(one, 'show statement_timeout')).toBe('0')
    }),
  )
})

describe('a named statement behind a pooler', () => {
  const named = { name: 'p1', text: 'select 1 as n' }

  it(
    'does not exist where its client lands next',
    pooled(async database => {
      const [one, two] = [await connect(database), await connect(database)]
      await one.query(named)
      await two.query('begin')
      await expect(one.query(named)).rejects.toMatchObject({ code: '26000' })
    }),
  )

  it(
    'exists already where another client lands',
    pooled(async database => {
      const [one, two] = [await connect(database), await connect(database)]
      await one.query(named)
      await expect(two.query(named)).rejects.toMatchObject({ code: '42P05' })
    }),
  )
})

describe('a startup parameter behind a pooler', () => {
  it.each<[string, pg.ClientConfig]>([
    ['a timeout', { statement_timeout: 1000 }],
    ['options', { options: '-c jit=off' }],
  ])('is refused: %s', (_, config) =>
    pooled(async database => {
      const refused = connect(database, config)
      await expect(refused).rejects.toThrow(/unsupported startup parameter/)
      opened.pop()
    })(),
  )

  it(
    'is let through where it is the name of the application',
    pooled(async database => {
      const named = await connect(database, { application_name: 'named' })
      expect(await answer(named, 'show application_name')).toBe('named')
    }),
  )
})

describe('a transaction behind a pooler', () => {
  it(
    'excludes by its lock, has its settings to itself, and leaves neither behind',
    pooled(async database => {
      const [one, two] = [await connect(database), await connect(database)]
      const lock = 'select pg_try_advisory_xact_lock(7)'
      for (const client of [one, two]) await client.query('begin')
      expect([await answer(one, lock), await answer(two, lock)]).toEqual([true, false])
      await one.query(`select set_config('statement_timeout', '777ms', true)`)
      await one.query('commit')
      expect(await answer(two, lock)).toBe(true)
      await two.query('commit')
      const seen = [await answer(one, 'show statement_timeout'), await answer(two, 'show statement_timeout')]
      expect(seen).toEqual(['0', '0'])
    }),
  )
})
