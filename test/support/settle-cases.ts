import type { Settlement } from '../../shared/worker/settle.ts'
import type { JobColumns } from './jobs.ts'
import { error } from './working.ts'

export const fail = { verb: 'fail', error } as const
export const release = { verb: 'release', cause: 'soft_stop' } as const
export const cancelInFlight = `cancel_requested_at = now(), cancel_reason = 'not needed'`

/** One line of the table of settles: a job, how it is ended, and what becomes of it. */
export interface SettleCase {
  readonly name: string
  readonly columns?: JobColumns
  /** What is done to the row while it runs. */
  readonly meanwhile?: string
  readonly ends: Partial<Settlement>
  readonly outcome: string
  readonly state: string
  readonly reason: string
  readonly job: Readonly<Record<string, unknown>>
}

export const settleCases: readonly SettleCase[] = [
  {
    name: 'complete succeeds',
    ends: { result: '{"sent":true}' },
    outcome: 'succeeded',
    state: 'succeeded',
    reason: 'completed',
    job: { result: { sent: true }, result_size_bytes: 13, error_class: null, uncharged: 0 },
  },
  {
    name: 'complete clears what an earlier failure left',
    columns: { error_class: `'Old'`, error_message: `'old'`, error_stack: `'old'` },
    ends: { result: 'null' },
    outcome: 'succeeded',
    state: 'succeeded',
    reason: 'completed',
    job: { result: null, error_class: null, error_message: null, error_stack: null },
  },
  {
    name: 'complete with a cancel in flight succeeds all the same',
    meanwhile: cancelInFlight,
    ends: {},
    outcome: 'succeeded',
    state: 'succeeded',
    reason: 'completed',
    job: { cancel_reason: 'not needed' },
  },
  {
    name: 'fail with budget left is scheduled by the curve',
    ends: fail,
    outcome: 'failed',
    state: 'scheduled',
    reason: 'failed',
    job: { error_class: 'TestError', error_message: 'it failed', uncharged: 0, finished_at: null },
  },
  {
    name: 'fail without budget fails',
    columns: { max_attempts: '1' },
    ends: fail,
    outcome: 'failed',
    state: 'failed',
    reason: 'failed',
    job: { error_class: 'TestError', error_stack: error.stack },
  },
  {
    name: 'fail counts neither snoozes nor releases against the budget (B080)',
    columns: { max_attempts: '2', attempt: '7', uncharged: '7' },
    ends: fail,
    outcome: 'failed',
    state: 'scheduled',
    reason: 'failed',
    job: { attempt: 8, uncharged: 7 },
  },
  {
    name: 'fail of an indefinite job is never the last (B048)',
    columns: { retry_kind: `'indefinite'`, attempt: '9999', max_attempts: '1' },
    ends: fail,
    outcome: 'failed',
    state: 'scheduled',
    reason: 'failed',
    job: { attempt: 10_000 },
  },
  {
    name: 'fail for good fails whatever the budget',
    ends: { ...fail, verb: 'fail_for_good' },
    outcome: 'failed',
    state: 'failed',
    reason: 'failed',
    job: { attempt: 1 },
  },
  {
    name: 'fail with a cancel in flight is cancelled, whatever the budget (B040)',
    meanwhile: cancelInFlight,
    ends: fail,
    outcome: 'cancelled',
    state: 'cancelled',
    reason: 'cancelled',
    job: { cancel_reason: 'not needed', error_class: 'TestError' },
  },
  {
    name: 'release is pending again, uncharged, due as before',
    columns: { error_class: `'Old'`, scheduled_at: `'2001-01-01'` },
    ends: release,
    outcome: 'released',
    state: 'pending',
    reason: 'released',
    job: {
      uncharged: 1,
      interrupt_count: 1,
      error_class: 'Old',
      scheduled_at: new Date('2001-01-01T00:00:00Z'),
    },
  },
  {
    name: 'release with a cancel in flight is cancelled (B041)',
    meanwhile: cancelInFlight,
    ends: release,
    outcome: 'cancelled',
    state: 'cancelled',
    reason: 'cancelled',
    job: { uncharged: 0 },
  },
  {
    name: 'release of a superseded job is cancelled',
    meanwhile: `superseded_by = gen_random_uuid()`,
    ends: release,
    outcome: 'cancelled',
    state: 'cancelled',
    reason: 'cancelled',
    job: { uncharged: 0 },
  },
  {
    name: 'fail of a superseded job is cancelled',
    meanwhile: `superseded_by = gen_random_uuid()`,
    ends: fail,
    outcome: 'cancelled',
    state: 'cancelled',
    reason: 'cancelled',
    job: {},
  },
]
