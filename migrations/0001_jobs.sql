-- The queue itself: jobs, what happened to them, who works and what is defined.

create type {schema}.job_status as enum
  ('pending', 'scheduled', 'running', 'succeeded', 'failed', 'cancelled', 'crashed');

create table {schema}.installation (
  only_row boolean primary key default true check (only_row),
  installation_id uuid not null,
  environment text,
  deployment_id text,
  created_at timestamptz not null default clock_timestamp(),
  schema_version int not null default 0
);

create table {schema}.actors (
  actor text primary key check (octet_length(actor) between 1 and 255),
  queue text not null default 'default',
  max_concurrent int check (max_concurrent > 0),
  max_pending int check (max_pending > 0),
  max_attempts int not null default 5 check (max_attempts > 0),
  retry_kind text not null default 'transient'
    check (retry_kind in ('transient', 'indefinite', 'non_retryable')),
  retry_backoff text not null default 'exponential'
    check (retry_backoff in ('exponential', 'linear', 'fixed')),
  retry_base interval not null default '2 seconds',
  retry_cap interval not null default '1 hour',
  retry_jitter float8 not null default 0.2 check (retry_jitter between 0 and 1),
  result_ttl interval,
  retention interval,
  singleton boolean not null default false,
  paused boolean not null default false,
  registered_at timestamptz not null default clock_timestamp(),
  metadata jsonb not null default '{}'
);

create table {schema}.queues (
  name text primary key check (octet_length(name) between 1 and 255),
  mode text not null default 'strict_fifo' check (mode in ('strict_fifo', 'round_robin')),
  max_concurrent int check (max_concurrent > 0),
  max_unclaimed_age interval not null default '15 minutes',
  paused_at timestamptz,
  paused_by text,
  last_claim_at timestamptz,
  nudge_arn text
) with (fillfactor = 80);

create table {schema}.workers (
  id uuid primary key,
  name text not null,
  hostname text not null default '',
  queues text[] not null default '{}',
  kind text not null default 'process' check (kind in ('lambda', 'process')),
  started_at timestamptz not null default clock_timestamp(),
  last_seen_at timestamptz not null default clock_timestamp(),
  metadata jsonb not null default '{}'
) with (fillfactor = 80);

create table {schema}.jobs (
  id uuid primary key default gen_random_uuid(),
  queue text not null default 'default',
  actor text not null,
  payload jsonb not null default '{}',
  payload_hash bytea,
  status {schema}.job_status not null default 'pending',
  priority int not null default 0,
  attempt int not null default 0,
  uncharged int not null default 0,
  max_attempts int not null default 5 check (max_attempts > 0),
  retry_kind text not null default 'transient'
    check (retry_kind in ('transient', 'indefinite', 'non_retryable')),
  retry_backoff text not null default 'exponential'
    check (retry_backoff in ('exponential', 'linear', 'fixed')),
  retry_base interval not null default '2 seconds',
  retry_cap interval not null default '1 hour',
  retry_jitter float8 not null default 0.2 check (retry_jitter between 0 and 1),
  claim_epoch bigint not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  scheduled_at timestamptz not null default clock_timestamp(),
  first_due_at timestamptz not null default clock_timestamp(),
  unclaimed_since timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  last_heartbeat_at timestamptz,
  heartbeat_timeout interval check (heartbeat_timeout > interval '0'),
  heartbeat_expires_at timestamptz,
  lock_expires_at timestamptz,
  -- One deadline and one index for both: two windows turned quadratic when a fleet died with both passed.
  reclaim_at timestamptz generated always as (least(lock_expires_at, heartbeat_expires_at)) stored,
  prune_at timestamptz,
  start_to_close interval check (start_to_close > interval '0'),
  schedule_to_close timestamptz,
  -- No foreign key: deleting a worker's row must neither wait for its jobs nor change them.
  locked_by uuid,
  cancel_requested_at timestamptz,
  cancel_reason text,
  identity_key text check (octet_length(identity_key) <= 1024),
  fairness_key text check (octet_length(fairness_key) <= 1024),
  idempotency_key text check (octet_length(idempotency_key) <= 1300),
  idempotency_scope text not null default '' check (octet_length(idempotency_scope) <= 255),
  unique_until timestamptz,
  batch_id uuid,
  schedule_id uuid,
  occurrence_due_at timestamptz,
  superseded_by uuid,
  result jsonb,
  result_size_bytes int,
  result_expires_at timestamptz,
  error_class text,
  error_message text,
  error_stack text,
  progress jsonb,
  progress_seq bigint not null default 0,
  metadata jsonb not null default '{}',
  tags text[] not null default '{}',
  traceparent text,
  snooze_count int not null default 0,
  denied_count int not null default 0,
  interrupt_count int not null default 0,
  -- Months and days have no fixed length in seconds, and the retry curve is computed in seconds.
  constraint jobs_retry_in_seconds check (
    extract(year from retry_base) = 0 and extract(month from retry_base) = 0 and extract(day from retry_base) = 0
    and extract(year from retry_cap) = 0 and extract(month from retry_cap) = 0 and extract(day from retry_cap) = 0
    and retry_base >= interval '0' and retry_cap >= interval '0')
) with (
  -- Room on the page for the next version of a row that moves several times in its life.
  fillfactor = 80,
  -- A queue turns its whole table over: the default of a fifth lets dead rows pile up before each vacuum.
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.05,
  autovacuum_vacuum_cost_delay = 0
);

-- A row inserted by hand waits from its first due instant on; every writer of ours sets it, so that the
-- trigger's condition, and nothing more, is what a bulk insert pays.
create function {schema}.start_waiting() returns trigger language plpgsql as $$
begin
  new.unclaimed_since := new.first_due_at;
  return new;
end
$$;

create trigger start_waiting before insert on {schema}.jobs
  for each row when (new.unclaimed_since is null and new.attempt = 0 and new.status in ('pending', 'scheduled'))
  execute function {schema}.start_waiting();

-- Serves claim: one probe an actor of a queue, in the order in which it is claimed.
create index jobs_claim on {schema}.jobs (queue, actor, priority desc, scheduled_at, id)
  where status = 'pending';
-- Serves promotion: its window's predicate and order, verbatim.
create index jobs_promotion on {schema}.jobs (scheduled_at, id) where status = 'scheduled';
-- Serves the promotion that an empty claim does for its own queues.
create index jobs_promotion_by_queue on {schema}.jobs (queue, scheduled_at, id) where status = 'scheduled';
-- Serves expired_locks. It changes with every heartbeat: accepted, since without it each empty claim
-- would scan all running rows.
create index jobs_expired_locks on {schema}.jobs (reclaim_at, id) where status = 'running';
-- Serves deadline_exceeded.
create index jobs_deadline_exceeded on {schema}.jobs (schedule_to_close, id)
  where status in ('pending', 'scheduled') and schedule_to_close is not null;
-- Serves enqueue: one job of a scope and key.
create unique index jobs_idempotency on {schema}.jobs (idempotency_scope, idempotency_key)
  where idempotency_key is not null;

create table {schema}.job_attempts (
  job_id uuid not null references {schema}.jobs (id) on delete cascade,
  attempt int not null,
  claim_epoch bigint not null default 0,
  worker_id uuid,
  worker_name text,
  due_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  outcome text not null
    check (outcome in ('succeeded', 'failed', 'cancelled', 'crashed', 'snoozed', 'released')),
  error_class text,
  error_message text,
  error_stack text,
  duration_ms bigint,
  primary key (job_id, attempt)
);

-- No foreign key to jobs: prune deletes ordinary events itself and leaves the feed's slice to its age.
create table {schema}.job_events (
  id bigint generated always as identity primary key,
  job_id uuid not null,
  occurred_at timestamptz not null default clock_timestamp(),
  kind text not null check (kind in ('state_change', 'cancel_requested')),
  detail jsonb not null default '{}',
  xact xid8 not null default pg_current_xact_id()
);

-- Serves the history of one job.
create index job_events_by_job on {schema}.job_events (job_id, id);
