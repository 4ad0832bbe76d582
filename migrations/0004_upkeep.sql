-- What the functions of every minute keep in order beside jobs, and who changed what by hand.

-- A limit on how much runs at a time: one row a place. A held slot has a lease, which its holder's heartbeats
-- extend. `keyed`: its bucket was made on use, from a key in a payload, and may go when it is idle.
create table {schema}.reservation_slots (
  bucket text not null check (octet_length(bucket) between 1 and 255),
  slot int not null,
  job_id uuid,
  held_by uuid,
  acquired_at timestamptz,
  lease_expires_at timestamptz,
  keyed boolean not null default false,
  last_used_at timestamptz not null default clock_timestamp(),
  primary key (bucket, slot)
) with (
  -- Each slot is written with every job that it lets through.
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 1000
);

-- Serves leaked_reservation_slots: its window's predicate and order, verbatim.
create index reservation_slots_leaked on {schema}.reservation_slots (lease_expires_at, bucket, slot)
  where lease_expires_at is not null;
-- Serves idle_keyed_rows: the slots that it looks at, the longest unused first.
create index reservation_slots_idle on {schema}.reservation_slots (last_used_at, bucket, slot) where keyed;

-- A limit on how often something runs. state: {tokens, capacity, refill_per_second, at} of a token bucket,
-- {tat} of a GCRA window in seconds since 1970, {window_seconds} of a window log, whose entries stand below.
create table {schema}.rate_limit_buckets (
  bucket text primary key check (octet_length(bucket) between 1 and 255),
  kind text not null,
  state jsonb not null default '{}',
  keyed boolean not null default false,
  last_used_at timestamptz not null default clock_timestamp(),
  -- Whether the state comes back by itself to that of a new bucket. A quota that is never refilled does not
  -- once a token is spent; of a state that lacks a member nothing is known, so it does not either. Stored,
  -- so that an index leaves out the rows that must stay for ever.
  resets boolean not null generated always as (
    case
      when jsonb_typeof(state -> 'tokens') = 'number' and jsonb_typeof(state -> 'capacity') = 'number'
        and jsonb_typeof(state -> 'refill_per_second') = 'number' and state ? 'at'
        then (state ->> 'refill_per_second')::numeric > 0
          or (state ->> 'tokens')::numeric >= (state ->> 'capacity')::numeric
      when state ? 'tokens' then false
      else coalesce(jsonb_typeof(state -> 'tat') = 'number', false)
        or coalesce(jsonb_typeof(state -> 'window_seconds') = 'number', false)
    end) stored
) with (
  -- Each bucket is written with every decision that it takes.
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 1000
);

-- Serves idle_keyed_rows: its window's predicate and order, verbatim.
create index rate_limit_buckets_idle on {schema}.rate_limit_buckets (last_used_at, bucket)
  where keyed and resets;

create table {schema}.rate_limit_window_entries (
  bucket text not null check (octet_length(bucket) between 1 and 255),
  at timestamptz not null,
  request_id uuid not null,
  primary key (bucket, at, request_id)
);

-- Jobs that end together. finalizer: {actor, queue?, payload?, priority?} of the job that runs once when all
-- members of a sealed batch have ended; its payload is {batchId} where none is given.
create table {schema}.batches (
  id uuid primary key default gen_random_uuid(),
  status text not null default 'active' check (status in ('active', 'complete', 'aborted')),
  -- After it nobody joins.
  sealed_at timestamptz,
  -- When its members were last looked at, by stale_batches.
  checked_at timestamptz not null default clock_timestamp(),
  expected_size int,
  failure_threshold int check (failure_threshold > 0),
  consecutive_failures int not null default 0,
  -- Refused where it is written: one that no job can be made of would stop every batch behind its own.
  finalizer jsonb check (finalizer is null or (
    jsonb_typeof(finalizer) = 'object'
    and coalesce(jsonb_typeof(finalizer -> 'actor') = 'string', false)
    and octet_length(finalizer ->> 'actor') between 1 and 255
    and coalesce(jsonb_typeof(finalizer -> 'queue') = 'string', true)
    and coalesce(octet_length(finalizer ->> 'queue') between 1 and 255, true)
    and coalesce((finalizer ->> 'priority')::int, 0) is not null)),
  finalizer_job_id uuid,
  created_at timestamptz not null default clock_timestamp(),
  completed_at timestamptz,
  metadata jsonb not null default '{}'
) with (fillfactor = 80);

-- Serves stale_batches: its window's predicate and order, verbatim.
create index batches_stale on {schema}.batches (checked_at, id) where status = 'active' and sealed_at is not null;

-- Who changed what by hand, and why. Without a foreign key, and kept: what it tells of may be gone.
create table {schema}.operator_audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  principal text not null,
  action text not null,
  target text not null,
  reason text,
  detail jsonb not null default '{}'
);
