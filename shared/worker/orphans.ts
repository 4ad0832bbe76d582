import { arg, schema, sql, statement } from '../sql/statement.ts'
import { int4, int8, uuid, uuidArray } from '../sql/types.ts'

/**
 * The jobs that are this worker's by the database and that it knows nothing of: a claim took them and its
 * reply was lost. Asked for after such a loss alone, since it walks over all running jobs.
 */
export const orphans = statement(
  'orphans',
  { id: uuid, attempt: int4, epoch: int8 },
  sql`select id, attempt, claim_epoch as epoch
  from ${schema}.jobs
  where status = 'running' and locked_by = ${arg('workerId', uuid)}
    and id <> all (${arg('known', uuidArray)})`,
)
