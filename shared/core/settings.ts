import { isSchemaName } from './names.ts'
import {
  choice,
  duration,
  optionalDatabaseUrl,
  optionalText,
  text,
  wholeNumber,
  wordList,
} from './setting-kinds.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Every setting there is. A key here is the property of {@link Settings}; its environment variable is
 * the same name in upper case behind `TASKQ_`. Properties that end in `Ms` are plain numbers of
 * milliseconds outside as well; every other duration is written with its unit and held in milliseconds.
 * The reference in docs/settings.md is made from this table.
 */
export const settingsTable = {
  databaseUrl: optionalDatabaseUrl({
    doc: 'Where the database is; a transaction pooler is welcome. This or the secret is required.',
  }),
  databaseSecretArn: optionalText({
    range: 'the complete ARN of a secret',
    isValid: value => value.startsWith('arn:'),
    doc: 'The secret that holds the URL: a plain URL, `{"url", "directUrl"?}`, or the JSON that RDS writes.',
  }),
  databaseDirectUrl: optionalDatabaseUrl({
    doc: 'Past the pooler, for migrations alone; the ordinary URL where absent.',
  }),
  databaseDriver: choice(['auto', 'pg', 'neon'], {
    fallback: 'auto',
    doc: 'How the database is spoken to: over TCP, or as Neon is reached best; `auto` goes by the host.',
  }),
  schemaName: text({
    fallback: 'taskq',
    range: 'a lower-case identifier of at most 48 bytes',
    isValid: isSchemaName,
    doc: 'The schema that holds everything. Two schemas in one database never meet.',
  }),
  rolePrefix: optionalText({
    range: 'a lower-case identifier of at most 48 bytes',
    isValid: isSchemaName,
    doc: 'Begins the names of the database roles, which a cluster shares; the schema’s name where absent.',
  }),
  environment: optionalText({
    range: 'a name',
    doc: 'Pinned by the stack; a database that says otherwise is the wrong target.',
  }),
  installationId: optionalText({
    range: 'a UUID',
    isValid: value => uuid.test(value),
    doc: 'Pinned by the stack; a restored or cloned database that says otherwise is the wrong target.',
  }),
  deploymentId: optionalText({
    range: 'a hash',
    doc: 'Set by the stack: the hash of bundles and settings. Migrate stores it.',
  }),
  functionsOff: wordList({
    fallback: '',
    range: 'purposes, separated by commas',
    isWord: word => /^[a-z_]+$/.test(word),
    doc: 'Scheduled functions that are not wanted: no rule, no alarm.',
  }),
  eventWriterBatchSize: wholeNumber(1, 10_000, {
    fallback: '100',
    doc: 'Rows that one committed batch of an event writer may touch.',
  }),
  eventWriterStatementTimeoutMs: wholeNumber(50, 10_000, {
    fallback: '1750',
    doc: 'The longest that one batch may run, enforced by the server: so long can we hold the feed back.',
  }),
  eventWriterReducedBatchDivisor: wholeNumber(2, 1000, {
    fallback: '4',
    doc: 'What a batch’s size is divided by once its function’s breaker has latched.',
  }),
  retentionStatementTimeoutMs: wholeNumber(50, 30_000, {
    fallback: '4000',
    doc: 'The same for the functions that only delete what is old: they hold no event back.',
  }),
  batchLockTimeoutMs: wholeNumber(10, 5000, {
    fallback: '250',
    doc: 'The longest that a batch waits for a row or table lock.',
  }),
  idleInTransactionTimeoutMs: wholeNumber(100, 10_000, {
    fallback: '1000',
    doc: 'The longest that a batch may sit between two of its statements.',
  }),
  connectTimeout: duration('100ms', '1m', {
    fallback: '10s',
    doc: 'One try to connect; a scheduled function tries twice, since a sleeping database wakes up.',
  }),
  sweepDrainBatches: wholeNumber(1, 10_000, {
    fallback: '1000',
    doc: 'Batches that one invocation may commit; the clock ends a drain first.',
  }),
  sweepBreakerFailureThreshold: wholeNumber(1, 1000, {
    fallback: '3',
    doc: 'Batches in a row that the server has to end for time before a function’s breaker latches.',
  }),
  sweepBreakerWindowSecs: wholeNumber(1, 86_400, {
    fallback: '600',
    doc: 'Seconds within which they must fall; four of the function’s cadences where that is longer.',
  }),
  keyedRowReclaimPeriod: duration('0', '3650d', {
    fallback: '1h',
    doc: 'How long a keyed slot or rate limit must be unused before it is deleted; 0 deletes none.',
  }),
  keyedRowReclaimBatchSize: wholeNumber(1, 10_000, {
    fallback: '256',
    doc: 'Keyed rows of one table that one run may delete.',
  }),
  cronTickLimit: wholeNumber(1, 10_000, {
    fallback: '100',
    doc: 'Schedules that one committed tick may fire.',
  }),
  cronTickTimeoutMs: wholeNumber(500, 20_000, {
    fallback: '5000',
    doc: 'The longest that a tick’s transaction may take, from its begin to its commit.',
  }),
  cronMaxCatchUp: wholeNumber(1, 10_000, {
    fallback: '100',
    doc: 'Owed instants of one schedule that one tick may fire; the next tick goes on.',
  }),
  cronLatenessTolerance: duration('0', '1d', {
    fallback: '5m',
    doc: 'How late an instant is on time, at most to the next; 0: `missed: skip` misses what is late at all.',
  }),
  cronAutoDisableThreshold: wholeNumber(1, 1000, {
    fallback: '3',
    doc: 'Failures in a row after which a schedule is disabled, and the pager told.',
  }),
  cronPayloadFactoryTimeout: duration('1ms', '1m', {
    fallback: '5s',
    doc: 'The longest that a schedule’s payload factory may take for one instant.',
  }),
  sweepInterval: duration('5s', '1m', {
    fallback: '1m',
    doc: 'How often `expired_locks` looks again inside its window. An empty claim reaps before it.',
  }),
  invocationWindow: duration('0', '90s', {
    fallback: '58s',
    doc: 'How long a pulsing function may stay while it knows of something due; 0 drains and exits.',
  }),
  lockLease: duration('500ms', '1d', {
    fallback: '1m',
    doc: 'How long a claimed job stays its holder’s without a heartbeat.',
  }),
  heartbeatInterval: duration('50ms', '1h', {
    fallback: '10s',
    doc: 'How often a worker renews its leases.',
  }),
  heartbeatCommandTimeout: duration('50ms', '1m', {
    fallback: '2s',
    doc: 'The longest that one heartbeat, all its statements together, may take.',
  }),
  maxHeartbeatFailures: wholeNumber(0, 100, {
    fallback: '3',
    doc: 'Heartbeats in a row that may fail before the worker gives its jobs up.',
  }),
  softStopTimeout: duration('0', '15m', {
    fallback: '20s',
    doc: 'How long a stopping worker waits for its handlers before it aborts them.',
  }),
  cleanupGrace: duration('0', '15m', {
    fallback: '10s',
    doc: 'How long an aborted handler may take to stop before it is left to its lease.',
  }),
  maxRetryBackoff: duration('1s', '30d', { fallback: '1d', doc: 'No retry is further off than this.' }),
  pollInterval: duration('50ms', '1m', {
    fallback: '1s',
    doc: 'How often a long-lived worker without work asks again; up to 5 s after an idle spell.',
  }),
  queues: wordList({
    fallback: '',
    range: 'names of queues, separated by commas',
    isWord: word => word !== '' && !/\p{Cc}/u.test(word),
    doc: 'What a worker serves where its code does not say; the queues of its actors where empty.',
  }),
  maxConcurrency: wholeNumber(1, 10_000, { fallback: '8', doc: 'Jobs that one worker runs at a time.' }),
  payloadMaxBytes: wholeNumber(1, 1_048_576, { fallback: '262144', doc: 'The largest payload, as JSON.' }),
  resultMaxBytes: wholeNumber(1, 1_048_576, {
    fallback: '65536',
    doc: 'The largest stored result, as JSON.',
  }),
  idempotencyKeyMaxBytes: wholeNumber(1, 1300, {
    fallback: '1024',
    doc: 'The longest idempotency key; half a kilobyte below what an index entry can hold.',
  }),
  logLevel: choice(['debug', 'info', 'warn', 'error'], {
    fallback: 'info',
    doc: 'The least that is logged.',
  }),
} as const
