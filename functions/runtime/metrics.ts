import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics'
import { isTaskQError } from '../../shared/core/errors.ts'
import type { DryRunResult, RunResult } from '../../shared/sweeper/result.ts'
import type { VitalSigns, Watch } from '../../shared/sweeper/vital-signs.ts'

/** Counts by name. Only what is not zero is published: a series costs money in every hour that has data. */
export type Counts = Readonly<Record<string, number>>

const nameByDisposition: Readonly<Record<string, string>> = {
  repended: 'JobsRepended',
  crashed: 'JobsCrashed',
  cancelled: 'JobsCancelledBySweep',
  unknown: 'JobsUnknownDisposition',
  failed: 'JobsFailedByDeadline',
  superseded: 'JobsSuperseded',
  deferred: 'SchedulesDeferred',
}

/** What an invocation did that somebody may have to know. */
export function countsOf(result: RunResult | DryRunResult): Counts {
  if ('dryRun' in result) return {}
  const moved = Object.entries(result.byDisposition ?? {}).flatMap(([disposition, rows]) => {
    const name = nameByDisposition[disposition]
    return name === undefined ? [] : [[name, rows] as const]
  })
  return { BatchesAborted: result.batchesAborted ?? 0, ...Object.fromEntries(moved) }
}

/** What a thrown error counts as, beside Lambda's own Errors. */
export function countsOfError(error: unknown): Counts {
  if (!isTaskQError(error)) return {}
  if (error.code === 'DATABASE_UNREACHABLE') return { DatabaseUnreachable: 1 }
  return error.code === 'WRONG_TARGET' ? { WrongTarget: 1 } : {}
}

/**
 * Prints the counts that are not zero as one line of CloudWatch's embedded format, and nothing where none is.
 * Call it after the commit.
 */
export function publishCounts(schema: string, counts: Counts): void {
  publish(
    schema,
    Object.entries(counts)
      .filter(([, count]) => count !== 0)
      .map(([name, value]) => ({ name, unit: 'Count', value })),
  )
}

/** Prints what the watcher read in the same way: what says that it lives always, all else where not zero. */
export function publishGauges(watched: Watch, { schema, gauges }: VitalSigns): void {
  publish(
    schema,
    watched.metrics.flatMap(({ name, unit, always }) => {
      const value = gauges[name]
      return value === undefined || (value === 0 && always !== true) ? [] : [{ name, unit, value }]
    }),
  )
}

interface Metric {
  readonly name: string
  readonly unit: keyof typeof MetricUnit
  readonly value: number
}

/** The schema is the one dimension: Powertools would add the service by itself. */
function publish(schema: string, stored: readonly Metric[]): void {
  if (stored.length === 0) return
  const metrics = new Metrics({ namespace: 'TaskQ' })
  metrics.clearDefaultDimensions()
  metrics.addDimension('Schema', schema)
  for (const { name, unit, value } of stored) metrics.addMetric(name, MetricUnit[unit], value)
  metrics.publishStoredMetrics()
}
