/** Why the signal of a handler was aborted. */
export type StopCause = 'cancelled' | 'lease_lost' | 'heartbeats_failed' | 'start_to_close' | 'soft_stop'

/**
 * Why a job was given back: its handler was told to stop and did, or was never called, because its worker
 * never heard of it (`claim_reply_lost`) or had no free handler for too long (`no_free_handler`).
 */
export type ReleaseCause = StopCause | 'claim_reply_lost' | 'no_free_handler'

export const stopMessages: Readonly<Record<StopCause, string>> = {
  cancelled: 'the job was cancelled',
  lease_lost: 'the lease of the job is lost: another may run it now',
  heartbeats_failed: 'the database was out of reach for too long to keep the lease',
  start_to_close: 'the attempt took longer than its startToClose',
  soft_stop: 'the worker stops',
}

/** The reason of an aborted signal. */
export class JobStopped extends Error {
  override readonly name = 'JobStopped'
  readonly stopCause: StopCause

  constructor(stopCause: StopCause, detail?: string) {
    super(detail === undefined ? stopMessages[stopCause] : `${stopMessages[stopCause]}: ${detail}`)
    this.stopCause = stopCause
  }
}
