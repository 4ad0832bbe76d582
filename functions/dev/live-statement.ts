import { schema, sql, statement } from '../../shared/sql/statement.ts'
import { int8 } from '../../shared/sql/types.ts'

/** All jobs by status: the table of a local run is small. */
export const countJobs = statement(
  'dev-jobs',
  { pending: int8, scheduled: int8, running: int8, succeeded: int8, failed: int8 },
  sql`select count(*) filter (where status = 'pending') as pending,
    count(*) filter (where status = 'scheduled') as scheduled,
    count(*) filter (where status = 'running') as running,
    count(*) filter (where status = 'succeeded') as succeeded,
    count(*) filter (where status in ('failed', 'crashed', 'cancelled')) as failed
  from ${schema}.jobs`,
)
