-- Enqueue, once: the client's statements and every other language go through insert_jobs.

-- Stores jobs of one actor, in the order given, each under the id that its caller made. A repeated call
-- with the same ids stores nothing new and answers the same. It never raises for a refusal: inside a
-- caller's transaction an exception would undo the caller's work too.
--
-- definition: {queue, maxAttempts, retryKind, retryBackoff, retryBaseMs, retryCapMs, retryJitter}, or null
--   where the caller knows only the actor's name; the first definition to arrive makes the actor's row.
-- options: {queue, delayMs, runAt, priority, scope, scheduleToCloseMs, startToCloseMs, heartbeatTimeoutMs,
--   identityKey, fairnessKey, tags, metadata, traceparent}; all optional, and the same for every job.
-- keys: one idempotency key a job, each or all of them null.
-- outcome: 'created' (the id is the one that was sent), 'existing' (a job had the key already),
--   'conflict' (it had it with another payload), 'vanished' (it had it, and was deleted meanwhile: call
--   again), 'unknown_actor' (one row, nothing stored).
create function {schema}.insert_jobs(
  actor text, definition jsonb, ids uuid[], payloads jsonb, keys text[], options jsonb, lock_timeout_ms int
) returns table (ordinal int, id uuid, outcome text)
language plpgsql
-- Restored by the server when the function ends, however it ends: the caller's own setting never changes.
set lock_timeout = '1s'
as $$
#variable_conflict use_column
declare
  policy {schema}.actors;
  scope text := coalesce(options->>'scope', '');
  is_new boolean;
  stored int;
begin
  perform set_config('lock_timeout', insert_jobs.lock_timeout_ms::text, true);
  select a.* into policy from {schema}.actors a where a.actor = insert_jobs.actor;
  if not found and definition is null then
    return query select 1, null::uuid, 'unknown_actor';
    return;
  end if;
  if definition is not null then
    is_new := not found;
    policy.queue := definition->>'queue';
    policy.max_attempts := (definition->>'maxAttempts')::int;
    policy.retry_kind := definition->>'retryKind';
    policy.retry_backoff := definition->>'retryBackoff';
    policy.retry_base := make_interval(secs => (definition->>'retryBaseMs')::float8 / 1000);
    policy.retry_cap := make_interval(secs => (definition->>'retryCapMs')::float8 / 1000);
    policy.retry_jitter := (definition->>'retryJitter')::float8;
    if is_new then
      -- With its retry policy: whoever enqueues by the bare name gets that of the definition.
      insert into {schema}.actors (
        actor, queue, max_attempts, retry_kind, retry_backoff, retry_base, retry_cap, retry_jitter)
      values (
        insert_jobs.actor, policy.queue, policy.max_attempts, policy.retry_kind, policy.retry_backoff,
        policy.retry_base, policy.retry_cap, policy.retry_jitter)
      on conflict do nothing;
    end if;
  end if;

  -- Read out of the options once, not once a row.
  with alike as materialized (
    select
      at, due,
      case when due > at then 'scheduled' else 'pending' end::{schema}.job_status as status,
      coalesce(options->>'queue', policy.queue) as queue,
      coalesce((options->>'priority')::int, 0) as priority,
      at + make_interval(secs => (options->>'scheduleToCloseMs')::float8 / 1000) as schedule_to_close,
      make_interval(secs => (options->>'startToCloseMs')::float8 / 1000) as start_to_close,
      make_interval(secs => (options->>'heartbeatTimeoutMs')::float8 / 1000) as heartbeat_timeout,
      options->>'identityKey' as identity_key,
      options->>'fairnessKey' as fairness_key,
      coalesce((select array_agg(tag order by place)
        from jsonb_array_elements_text(options->'tags') with ordinality as tags (tag, place)), '{}') as tags,
      coalesce(options->'metadata', '{}') as metadata,
      options->>'traceparent' as traceparent
    from (
      select at, coalesce(
        (options->>'runAt')::timestamptz, at + make_interval(secs => (options->>'delayMs')::float8 / 1000), at) as due
      from (select clock_timestamp() as at) as clock
    ) as stamp
  )
  insert into {schema}.jobs (
    id, queue, actor, payload, payload_hash, status, priority, max_attempts,
    retry_kind, retry_backoff, retry_base, retry_cap, retry_jitter,
    created_at, scheduled_at, first_due_at, unclaimed_since,
    schedule_to_close, start_to_close, heartbeat_timeout, identity_key, fairness_key,
    idempotency_key, idempotency_scope, tags, metadata, traceparent)
  select
    ids[given.ordinal],
    alike.queue,
    insert_jobs.actor,
    given.payload,
    case when keys[given.ordinal] is not null then sha256(convert_to(given.payload::text, 'UTF8')) end,
    alike.status,
    alike.priority,
    policy.max_attempts,
    policy.retry_kind, policy.retry_backoff, policy.retry_base, policy.retry_cap, policy.retry_jitter,
    -- A microsecond a row keeps the order given: the claim goes by due time before it goes by id.
    alike.at + step, alike.due + step, alike.due + step, alike.due + step,
    alike.schedule_to_close, alike.start_to_close, alike.heartbeat_timeout, alike.identity_key, alike.fairness_key,
    keys[given.ordinal],
    scope,
    alike.tags,
    alike.metadata,
    alike.traceparent
  from alike,
    jsonb_array_elements(payloads) with ordinality as given (payload, ordinal),
    lateral (select (given.ordinal - 1) * interval '1 microsecond' as step) as ladder
  order by given.ordinal
  on conflict do nothing;
  get diagnostics stored = row_count;

  if stored = cardinality(ids) then
    return query select place::int, sent, 'created' from unnest(ids) with ordinality as sent (sent, place);
    return;
  end if;
  -- A statement of its own, and so a snapshot of its own: the winner may have committed a moment ago.
  return query
    select given.ordinal::int, coalesce(mine.id, winner.id),
      case
        when mine.id is not null then 'created'
        when winner.id is null then 'vanished'
        when winner.payload_hash = sha256(convert_to(given.payload::text, 'UTF8')) then 'existing'
        else 'conflict'
      end
    from jsonb_array_elements(payloads) with ordinality as given (payload, ordinal)
    left join {schema}.jobs mine on mine.id = ids[given.ordinal]
    left join {schema}.jobs winner
      on winner.idempotency_scope = scope and winner.idempotency_key = keys[given.ordinal]
    order by given.ordinal;
end
$$;

-- Enqueues one job from any language, inside the caller's transaction: it is stored with the caller's
-- data or not at all. A refusal is an exception: TQ001 the actor is unknown, TQ002 the key belongs to a
-- job with another payload, TQ003 an option is wrong and named, 55P03 somebody's open transaction holds the
-- same key.
--
--   select id, created from {schema}.enqueue('send-receipt', '{"orderId": 7}', delay => '5 minutes');
create function {schema}.enqueue(
  actor text,
  payload jsonb,
  queue text default null,
  delay interval default null,
  run_at timestamptz default null,
  priority int default 0,
  idempotency_key text default null,
  idempotency_scope text default '',
  schedule_to_close interval default null,
  start_to_close interval default null,
  heartbeat_timeout interval default null,
  tags text[] default '{}',
  metadata jsonb default '{}',
  traceparent text default null,
  job_id uuid default gen_random_uuid()
) returns table (id uuid, created boolean)
language plpgsql
as $$
#variable_conflict use_column
declare
  answer record;
  -- The first option that the client would refuse, too; the size of the payload is the client's to bound.
  refused text := case
    when payload is null then 'payload: is null; write ''null''::jsonb for a JSON null'
    when octet_length(queue) not between 1 and 255 then 'queue: is not 1 to 255 bytes long'
    when delay is not null and run_at is not null then 'run_at: stands beside delay; one of them says when'
    when delay < interval '0' then 'delay: is negative'
    when not isfinite(run_at) then 'run_at: never comes'
    when octet_length(idempotency_key) not between 1 and 1300 then 'idempotency_key: is not 1 to 1300 bytes long'
    when schedule_to_close <= interval '0' then 'schedule_to_close: is not above 0'
    when start_to_close <= interval '0' then 'start_to_close: is not above 0'
    when heartbeat_timeout < interval '1 second' then 'heartbeat_timeout: is below 1 second'
    when jsonb_typeof(metadata) <> 'object' then 'metadata: is no object'
    when array_position(tags, null) is not null then 'tags: hold a null'
  end;
begin
  if refused is not null then
    raise exception '%', refused using errcode = 'TQ003';
  end if;
  select * into answer from {schema}.insert_jobs(
    enqueue.actor, null, array[enqueue.job_id], jsonb_build_array(enqueue.payload), array[enqueue.idempotency_key],
    jsonb_strip_nulls(jsonb_build_object(
      'queue', enqueue.queue,
      'delayMs', extract(epoch from enqueue.delay) * 1000,
      'runAt', enqueue.run_at,
      'priority', enqueue.priority,
      'scope', enqueue.idempotency_scope,
      'scheduleToCloseMs', extract(epoch from enqueue.schedule_to_close) * 1000,
      'startToCloseMs', extract(epoch from enqueue.start_to_close) * 1000,
      'heartbeatTimeoutMs', extract(epoch from enqueue.heartbeat_timeout) * 1000,
      'tags', to_jsonb(enqueue.tags),
      'traceparent', enqueue.traceparent))
      || jsonb_build_object('metadata', coalesce(enqueue.metadata, '{}')),
    250);
  if answer.outcome = 'unknown_actor' then
    raise exception 'actor "%" is unknown', enqueue.actor
      using errcode = 'TQ001', hint = 'enqueue it once through the client, which knows its definition';
  elsif answer.outcome = 'conflict' then
    raise exception 'idempotency key "%" belongs to job % with another payload', enqueue.idempotency_key, answer.id
      using errcode = 'TQ002';
  elsif answer.outcome = 'vanished' then
    raise exception 'the job with idempotency key "%" was deleted meanwhile', enqueue.idempotency_key
      using errcode = 'serialization_failure', hint = 'try again';
  end if;
  return query select answer.id, answer.outcome = 'created';
end
$$;
