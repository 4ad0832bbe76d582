-- Schedules: what recurs, what a missed run of it means, and every decision that was taken about it.

create table {schema}.schedules (
  id uuid primary key default gen_random_uuid(),
  name text not null unique check (octet_length(name) between 1 and 255),
  actor text not null check (octet_length(actor) between 1 and 255),
  -- Null: the actor's.
  queue text check (octet_length(queue) between 1 and 255),
  -- A cron expression, or `every 15m`.
  recurrence text not null check (octet_length(recurrence) between 1 and 255),
  timezone text not null default 'UTC' check (octet_length(timezone) between 1 and 255),
  start_at timestamptz,
  end_at timestamptz,
  -- How much later than its instant each one fires, so that not all of midnight is due at midnight.
  smear interval not null default '0' check (smear between interval '0' and interval '1 day'),
  shape text,
  missed text,
  on_open text,
  payload jsonb,
  payload_factory text check (octet_length(payload_factory) between 1 and 255),
  max_unclaimed_age interval not null check (max_unclaimed_age > interval '0'),
  -- Whether that is two periods because nobody gave one: it then follows the recurrence through edits.
  age_follows_period boolean not null default false,
  -- Whether a definitions module declares it; what an operator made by hand is no drift.
  declared boolean not null default false,
  enabled boolean not null default true,
  disabled_by text check (disabled_by in ('operator', 'auto')),
  consecutive_failures int not null default 0,
  last_fire_error text,
  -- The cursor: the first instant that nobody has decided about. Null: none comes any more.
  next_fire_at timestamptz,
  last_fired_at timestamptz,
  -- A failure or a deferral is not tried again before it.
  retry_not_before timestamptz,
  deferred_since timestamptz,
  revision int not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  -- Since when this revision holds: an instant before it is that of an earlier one.
  revised_at timestamptz not null default clock_timestamp(),
  retired_at timestamptz,
  -- When the next tick looks at it, in one column, so that what waits for a retry does not clog the index.
  tick_at timestamptz generated always as (
    case when next_fire_at is not null then greatest(next_fire_at, retry_not_before) end) stored,
  -- What a missed run means has no default, and nothing may leave it out.
  constraint schedules_missed_run_stated check (coalesce(case shape
    when 'intent' then missed in ('latest', 'skip') and on_open in ('supersede', 'skip')
    when 'deliverable' then missed = 'all' and on_open = 'add'
  end, false)),
  constraint schedules_one_payload check (num_nonnulls(payload, payload_factory) = 1)
) with (
  -- Each fire writes its row, and with it the index below: room for a few versions on the page.
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_vacuum_threshold = 200
);

-- Serves cron: what is due, the longest due first.
create index schedules_due on {schema}.schedules (tick_at, id) where enabled;
-- Serves the watcher, every minute: what strikes have switched off. There is mostly nothing in it.
create index schedules_disabled on {schema}.schedules (id)
  where disabled_by = 'auto' and not enabled and retired_at is null;

-- Every definition that a schedule ever had; `definition` is its row of that time, without what ticks write.
create table {schema}.schedule_revisions (
  schedule_id uuid not null,
  revision int not null,
  definition jsonb not null,
  revised_at timestamptz not null default clock_timestamp(),
  principal text not null,
  -- Whether a definitions module said so; what differs from the last of these was changed by hand since.
  declared boolean not null default false,
  primary key (schedule_id, revision)
);

-- What became of an instant. Its key is the fence: whatever locks are held, no instant fires twice.
create table {schema}.schedule_occurrences (
  schedule_id uuid not null,
  due_at timestamptz not null,
  outcome text not null check (outcome in ('fired', 'skipped_open')),
  job_id uuid,
  revision int not null,
  decided_at timestamptz not null default clock_timestamp(),
  primary key (schedule_id, due_at)
);

-- Append-only: every move of a cursor, and whatever else was done to a schedule. Where the cursor did not
-- move both ends are the same, so that the last row of a schedule always says where its cursor stands.
create table {schema}.schedule_decisions (
  id bigint generated always as identity primary key,
  schedule_id uuid not null,
  revision int not null,
  decided_at timestamptz not null default clock_timestamp(),
  cursor_from timestamptz,
  cursor_to timestamptz,
  action text not null check (action in (
    'create', 'fire', 'run_now', 'backfill', 'edit', 'pause', 'resume', 'disable', 'retire')),
  fired int not null default 0,
  skipped int not null default 0,
  missed bigint not null default 0,
  missed_from timestamptz,
  missed_to timestamptz,
  superseded int not null default 0,
  principal text,
  note text
);

-- Serves the history of one schedule.
create index schedule_decisions_by_schedule on {schema}.schedule_decisions (schedule_id, id);

-- Jobs that were pruned, as they were. Without a default: every column is written by name.
create table {schema}.jobs_archive (like {schema}.jobs);
alter table {schema}.jobs_archive
  add column archived_at timestamptz not null default clock_timestamp(),
  add column expire_at timestamptz,
  add primary key (id);
