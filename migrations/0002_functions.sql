-- What the scheduled functions know of themselves between two invocations.

create table {schema}.sweep_state (
  function text primary key,
  last_started_at timestamptz,
  last_success_at timestamptz,
  installed_at timestamptz not null default clock_timestamp(),
  last_outcome text,
  last_rows bigint not null default 0,
  rows_total bigint not null default 0,
  batch_size int,
  batch_size_configured int,
  consecutive_aborts int not null default 0,
  first_abort_at timestamptz,
  latched_at timestamptz,
  last_error text,
  last_error_at timestamptz,
  recent_outcomes text[] not null default '{}',
  disabled_at timestamptz,
  disabled_by text
) with (
  -- A dozen rows, each written once a minute: half the page stays free so that every write is HOT.
  fillfactor = 50,
  autovacuum_vacuum_threshold = 200,
  autovacuum_vacuum_scale_factor = 0
);

create table {schema}.sweep_quarantine (
  function text not null,
  row_key text not null check (octet_length(row_key) <= 1024),
  failures int not null default 1,
  until timestamptz not null,
  last_error text,
  first_seen_at timestamptz not null default clock_timestamp(),
  primary key (function, row_key)
);
