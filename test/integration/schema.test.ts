import { expect, it } from 'vitest'
import { useDatabase } from '../support/database.ts'

const database = useDatabase()

/** Everything that the migrations made, a line each, so that the effect of a change is reviewed as a diff. */
const catalogue = `
  select format('%s.%s %s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
    case when a.attnotnull then ' not null' end,
    case when a.attgenerated <> '' then ' generated ' when d.adbin is not null then ' default ' end
      || pg_get_expr(d.adbin, d.adrelid)) as line
  from pg_attribute a join pg_class c on c.oid = a.attrelid
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where c.relnamespace = 'taskq'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
  union all
  select format('%s with (%s)', relname, array_to_string(reloptions, ', ')) from pg_class
  where relnamespace = 'taskq'::regnamespace and relkind = 'r' and reloptions is not null
  union all
  select pg_get_indexdef(indexrelid) from pg_index join pg_class on pg_class.oid = indexrelid
  where relnamespace = 'taskq'::regnamespace
  union all
  select format('%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
  where connamespace = 'taskq'::regnamespace and contype <> 'n'
  union all
  select pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = t.tgrelid
  where c.relnamespace = 'taskq'::regnamespace and not t.tgisinternal
  union all
  select format('function %s(%s) returns %s', proname,
    pg_get_function_arguments(oid), pg_get_function_result(oid))
  from pg_proc where pronamespace = 'taskq'::regnamespace
  union all
  select format('type %s: %s', t.typname, string_agg(e.enumlabel, ', ' order by e.enumsortorder))
  from pg_type t join pg_enum e on e.enumtypid = t.oid
  where t.typnamespace = 'taskq'::regnamespace group by t.typname`

it('the migrated schema is the one that was reviewed', async () => {
  const rows = await database().rows<{ line: string }>(
    `select line from (${catalogue}) as all_lines
     order by line collate "C"`,
  )
  const lines = rows.map(({ line }) => line)
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('schema.txt')
})
