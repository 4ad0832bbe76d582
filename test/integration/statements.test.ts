import { describe, expect, it } from 'vitest'
import { render } from '../../shared/sql/statement.ts'
import { useDatabase } from '../support/database.ts'
import { everyStatement } from '../support/statements.ts'

const database = useDatabase()
const statements = await everyStatement()

/** Types that JavaScript reads alike, so that a column may be declared as either. */
const same: Readonly<Record<string, string>> = { varchar: 'text', name: 'text' }

describe('every statement of the product', () => {
  it('is found', () => {
    expect(statements.length).toBeGreaterThan(9)
    expect(new Set(statements.map(({ name }) => name)).size).toBe(statements.length)
  })

  it.each(statements)(
    '$name is accepted by the migrated schema and returns the row it declares',
    async statement => {
      const client = await database().client()
      const { text } = render(statement.fragment, 'taskq')
      await client.query(`prepare under_test as ${text}`)
      const { rows } = await client.query<{ types: string[] | null }>(
        `select array(select typname::text from unnest(result_types) with ordinality as r (oid, place)
         join pg_type on pg_type.oid = r.oid order by place) as types
       from pg_prepared_statements where name = 'under_test'`,
      )
      const found = (rows[0]?.types ?? []).map(type => same[type] ?? type)
      const declared = Object.values(statement.columns).map(({ name }) => name.replace(/^(.*)\[\]$/, '_$1'))
      expect(found).toEqual(declared)
    },
  )
})
