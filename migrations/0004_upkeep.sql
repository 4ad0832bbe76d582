-- What the functions of every minute keep in order beside jobs, and who changed what by hand.

-- A limit on how much runs at a time: one row a place. A held slot has a lease, which its holder's heartbeats
-- extend. `keyed`: its bucket was made on use, from a key in a payload, and may go when it is idle, whole. So
-- whoever adds slots to one that has some sets `last_used_at` of one of these first, in the same transaction;
-- where none is left, he makes the whole bucket, in one statement. Without that write the bucket may go from
-- around the slots that join it, and a lock alone is not enough: it leaves no trace once it is given back.
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
-- {tat} of a GCRA window, {window_seconds} of a window log, whose entries stand below. `at` is when the
-- tokens were counted and `tat` when the next arrival is allowed, both in seconds since 1970.
create table {schema}.rate_limit_buckets (
  bucket text primary key check (octet_length(bucket) between 1 and 255),
  kind text not null,
  state jsonb not null default '{}',
  keyed boolean not null default false,
  last_used_at timestamptz not null default clock_timestamp(),
  -- Whether the state comes back by itself to that of a new bucket. A quota that is never refilled does not
  -- once a token is spent; of a state that lacks a member, or has one beyond any use, nothing is known, so it
  -- does not either. Stored, so that an index leaves out the rows that must stay for ever. These paths never
  -- raise; what they let through, idle_keyed_rows can reckon with: no product is beyond numeric, and a window
  -- of up to 30 years is an interval that can be taken from any date.
  resets boolean not null generated always as (coalesce(
    case
      when state ? 'tokens' then state ? 'at' and state @@ 'strict
        $.tokens >= 0 && $.tokens <= 1e15 && $.capacity >= 0 && $.capacity <= 1e15
        && $.refill_per_second >= 0 && $.refill_per_second <= 1e15
        && ($.refill_per_second > 0 || $.tokens >= $.capacity)'
      when state ? 'tat' then state @@ 'strict $.tat >= 0 && $.tat <= 1e15'
      else state @@ 'strict $.window_seconds > 0 && $.window_seconds <= 1e9'
    end, false)) stored
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
