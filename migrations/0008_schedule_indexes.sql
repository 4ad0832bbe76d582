-- taskq: non-transactional
-- What a tick asks of the jobs of a schedule.

-- Serves cron: the open instances of a schedule, which the next one supersedes or waits for. Only jobs of
-- schedules write it.
create index concurrently if not exists jobs_open_of_schedule on {schema}.jobs (schedule_id, id)
  where schedule_id is not null and status in ('pending', 'scheduled', 'running');
