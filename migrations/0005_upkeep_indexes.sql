-- taskq: non-transactional
-- The windows of the functions of every minute over tables that hold rows already.

-- Serves expired_results: its window's predicate and order, verbatim.
create index concurrently if not exists jobs_expired_results on {schema}.jobs (result_expires_at, id)
  where result is not null;
-- Serves stale_batches: whether a batch has an open member, however many of its members have ended.
create index concurrently if not exists jobs_open_members on {schema}.jobs (batch_id)
  where batch_id is not null and status in ('pending', 'scheduled', 'running');
-- Serves stale_workers: its window's order, for whatever kinds there are.
create index concurrently if not exists workers_stale on {schema}.workers (last_seen_at, id);
