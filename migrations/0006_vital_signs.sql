-- taskq: non-transactional
-- What the watcher reads, each by an index of its own: it looks every minute, at however many jobs there are.

-- Serves the pager: since when the oldest job of a queue waits for its first claim. The claim clears
-- unclaimed_since, so that only an enqueue and a promotion write it: measured, 76 bytes more of WAL for each
-- job enqueued (14 %), none for a claim or a heartbeat.
create index concurrently if not exists jobs_unclaimed on {schema}.jobs (queue, unclaimed_since)
  where unclaimed_since is not null and status in ('pending', 'scheduled') and schedule_id is null;
-- Serves the pager as well: since when the oldest job of a schedule waits, which has a limit of its own. By
-- queue, too, because nobody is owed what waits in a paused one. No other job writes it.
create index concurrently if not exists jobs_unclaimed_by_schedule
  on {schema}.jobs (schedule_id, queue, unclaimed_since)
  where unclaimed_since is not null and status in ('pending', 'scheduled') and schedule_id is not null;
-- Serves the age of what was claimed before and is due again. Only a retry, a snooze, a release and the
-- promotion after it write it and the next one: 166 bytes more of WAL for the two.
create index concurrently if not exists jobs_waiting on {schema}.jobs (queue, scheduled_at)
  where unclaimed_since is null and status in ('pending', 'scheduled');
-- Serves the age of what has not ended, for jobs that are retried again and again.
create index concurrently if not exists jobs_unfinished on {schema}.jobs (first_due_at)
  where unclaimed_since is null and status in ('pending', 'scheduled');
-- Serves the feed of reclaims: its slice, in its order.
create index concurrently if not exists job_events_feed on {schema}.job_events (xact, id)
  where kind = 'state_change' and detail ->> 'reason' = 'lock_expired';
