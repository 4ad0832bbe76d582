/**
 * How a queue is, as `taskq status --json` prints it and `worker.health()` answers. Ages are seconds by the
 * database's clock; counts end at 10,000. A part that could not be read is null, and a reason says why.
 */
export interface Status {
  readonly schema: string
  /**
   * False where a queue that is not paused, or a schedule, has let a job wait unclaimed for longer than it
   * allows, or where that cannot be read.
   */
  readonly healthy: boolean
  /**
   * Whether a function is late, works at a part of its batch size, or has rows set aside; or a schedule was
   * switched off because it failed, or is put off. It is information, and no reason to end a process.
   */
  readonly degraded: boolean
  /** One sentence for each thing that is not well, or not known. */
  readonly reasons: readonly string[]
  readonly functions: readonly FunctionStatus[] | null
  readonly queues: readonly QueueStatus[] | null
  readonly schedules: readonly ScheduleStatus[] | null
  readonly feed: FeedStatus | null
  readonly oldestSnapshot: SnapshotStatus | null
  readonly workers: readonly WorkerStatus[] | null
}

/** One scheduled function. */
export interface FunctionStatus {
  readonly function: string
  /** In words: how it is. */
  readonly state: string
  readonly degraded: boolean
  /** Of its last run; null where none has ended yet. */
  readonly outcome: string | null
  readonly lastStartedAt: Date | null
  readonly lastSuccessAt: Date | null
  readonly successAgeSeconds: number | null
  /** Rows of its last run, and of all. */
  readonly lastRows: number
  readonly rowsTotal: number
  /** The most rows a batch of its last run may have taken, and what is configured. */
  readonly batchSize: number | null
  readonly batchSizeConfigured: number | null
  /** Since when its breaker has it work at a part of its batch size. */
  readonly latchedAt: Date | null
  readonly disabledAt: Date | null
  /** Rows that stand aside because each failed by itself. */
  readonly quarantined: number
  /** Cleared by the next success. */
  readonly lastError: { readonly message: string; readonly at: Date | null } | null
  /** Of its last five runs, the newest first. */
  readonly recentOutcomes: readonly string[]
}

/** One queue, known by its row or by its open jobs. What it owes are its jobs of no schedule. */
export interface QueueStatus {
  readonly queue: string
  readonly paused: boolean
  readonly counts: { readonly pending: number; readonly scheduled: number; readonly running: number }
  /** How long its oldest job is due that nobody has ever claimed; null where none waits. */
  readonly oldestUnclaimedAgeSeconds: number | null
  readonly unclaimedLimitSeconds: number
  /** Whether that is too long; a paused queue has no limit. */
  readonly overLimit: boolean
  /** When a worker last asked for its jobs. */
  readonly lastClaimAt: Date | null
}

/**
 * One schedule, those that are not well first; at most 10,000. A retired one is told of while a job of its
 * still waits. An instant that no Date can hold is null.
 */
export interface ScheduleStatus {
  readonly name: string
  readonly actor: string
  readonly enabled: boolean
  /** `auto`: so many fires in a row failed. */
  readonly disabledBy: 'operator' | 'auto' | null
  /** Switched off by `auto`, or put off, such as while its actor or queue takes no more. */
  readonly degraded: boolean
  /** The first instant that nobody has decided about; null where none comes any more. */
  readonly nextFireAt: Date | null
  readonly lastFiredAt: Date | null
  readonly consecutiveFailures: number
  /** Why it last failed or was put off; the next fire clears it. */
  readonly lastFireError: string | null
  readonly deferredSince: Date | null
  /** How long its oldest job is due that nobody has ever claimed; through supersedes, since the first. */
  readonly oldestUnclaimedAgeSeconds: number | null
  readonly unclaimedLimitSeconds: number
  /** Whether that is too long; what waits in a paused queue has no limit. */
  readonly overLimit: boolean
}

export interface FeedStatus {
  /** How old the oldest event is that cannot be delivered yet; null where all can. */
  readonly horizonLagSeconds: number | null
}

/** The oldest transaction over five minutes that keeps dead rows from being cleaned. */
export interface SnapshotStatus {
  /** 0 where there is none; null where sessions are hidden from this login, so that nobody knows. */
  readonly ageSeconds: number | null
  readonly holder: Readonly<Record<string, unknown>> | null
}

export interface WorkerStatus {
  readonly id: string
  readonly name: string
  readonly hostname: string
  readonly kind: string
  readonly seenAgeSeconds: number
}

/** The status of a queue of which nothing can be read. */
export function unreadStatus(schema: string, reason: string): Status {
  return {
    schema,
    healthy: false,
    degraded: false,
    reasons: [reason],
    functions: null,
    queues: null,
    schedules: null,
    feed: null,
    oldestSnapshot: null,
    workers: null,
  }
}
