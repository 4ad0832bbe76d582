import { afterEach, describe, expect, test, vi } from 'vitest'
import { countsOf, countsOfError, publishCounts, publishGauges } from '../../../functions/runtime/metrics.ts'
import { TaskQError, WrongTargetError } from '../../../shared/core/errors.ts'
import type { RunResult } from '../../../shared/sweeper/result.ts'
import { type VitalSigns, vitalSigns } from '../../../shared/sweeper/vital-signs.ts'
import { printed } from '../../support/printed.ts'

afterEach(() => vi.restoreAllMocks())

const idle: RunResult = {
  function: 'expired_locks',
  schema: 'taskq',
  trigger: 'schedule',
  outcome: 'drained',
  pulses: 1,
  batches: 1,
  rows: 0,
  batchSize: 100,
  batchSizeConfigured: 100,
  degraded: false,
  remaining: 0,
  durationMs: 5,
  longestBatchMs: 2,
}

describe('metrics', () => {
  test('are one line of the embedded format: our namespace, the schema as the one dimension', () => {
    const lines = printed(() => publishCounts('tenant_a', { JobsCrashed: 2, JobsRepended: 40 }))
    expect(lines).toHaveLength(1)
    const { _aws, ...members } = JSON.parse(lines[0] ?? '') as Record<string, { CloudWatchMetrics: unknown }>
    expect(_aws?.CloudWatchMetrics).toEqual([
      {
        Namespace: 'TaskQ',
        Dimensions: [['Schema']],
        Metrics: [
          { Name: 'JobsCrashed', Unit: 'Count' },
          { Name: 'JobsRepended', Unit: 'Count' },
        ],
      },
    ])
    expect(members).toEqual({ Schema: 'tenant_a', JobsCrashed: 2, JobsRepended: 40 })
  })

  test('that are zero are not printed', () => {
    const [line = ''] = printed(() => publishCounts('taskq', { JobsCrashed: 0, JobsRepended: 1 }))
    expect(line).not.toContain('JobsCrashed')
  })

  test('print nothing at all, not even a warning, where all are zero', () => {
    expect(printed(() => publishCounts('taskq', {}))).toEqual([])
    expect(printed(() => publishCounts('taskq', countsOf(idle)))).toEqual([])
  })

  test('of one invocation do not stay for the next', () => {
    printed(() => publishCounts('a', { WrongTarget: 1 }))
    const [line = ''] = printed(() => publishCounts('b', { JobsCrashed: 1 }))
    expect(JSON.parse(line)).toMatchObject({ Schema: 'b', JobsCrashed: 1 })
    expect(line).not.toContain('WrongTarget')
  })
})

describe('vital signs', () => {
  const read = (gauges: VitalSigns['gauges']): VitalSigns => ({
    function: 'vital_signs',
    schema: 'tenant_a',
    trigger: 'schedule',
    outcome: 'drained',
    gauges,
    failed: [],
    worst: {},
    durationMs: 5,
  })

  test('publish the one heartbeat always, and nothing else that is zero or absent', () => {
    const lines = printed(() => publishGauges(vitalSigns, read({ SweepsStale: 0, JobsStranded: 0 })))
    expect(lines.map(line => JSON.parse(line))).toEqual([
      {
        _aws: {
          Timestamp: expect.any(Number),
          CloudWatchMetrics: [
            {
              Namespace: 'TaskQ',
              Dimensions: [['Schema']],
              Metrics: [{ Name: 'SweepsStale', Unit: 'Count' }],
            },
          ],
        },
        Schema: 'tenant_a',
        SweepsStale: 0,
      },
    ])
  })

  test('publish ages in seconds, and how many gauges could not be read', () => {
    const gauges = { OldestUnclaimedAgeSeconds: 1234.5, RowsQuarantined: 3, GaugeReadFailed: 2 }
    const [line = ''] = printed(() => publishGauges(vitalSigns, read(gauges)))
    const { _aws, ...members } = JSON.parse(line)
    expect(members).toEqual({ Schema: 'tenant_a', ...gauges })
    expect(_aws.CloudWatchMetrics[0].Metrics).toEqual([
      { Name: 'RowsQuarantined', Unit: 'Count' },
      { Name: 'OldestUnclaimedAgeSeconds', Unit: 'Seconds' },
      { Name: 'GaugeReadFailed', Unit: 'Count' },
    ])
  })

  test('that lack their heartbeat print none: its silence is the alarm', () => {
    expect(printed(() => publishGauges(vitalSigns, read({ GaugeReadFailed: 0 })))).toEqual([])
  })
})

describe('what counts', () => {
  test('are the ways that rows went, by the names that alarms know', () => {
    const byCron = { fired: 10, superseded: 8, deferred: 9, struck: 11 }
    const bySweeps = { repended: 1, crashed: 2, cancelled: 3, unknown: 4, failed: 5, promoted: 6 }
    const byDisposition = { ...bySweeps, ...byCron }
    expect(countsOf({ ...idle, byDisposition, batchesAborted: 7 })).toEqual({
      JobsRepended: 1,
      JobsCrashed: 2,
      JobsCancelledBySweep: 3,
      JobsUnknownDisposition: 4,
      JobsFailedByDeadline: 5,
      JobsSuperseded: 8,
      SchedulesDeferred: 9,
      BatchesAborted: 7,
    })
  })

  test('is nothing where a run only looked', () => {
    const looked = {
      function: 'promotion',
      schema: 'taskq',
      trigger: 'manual',
      dryRun: true,
      eligible: 9,
    } as const
    expect(countsOf(looked)).toEqual({})
  })

  test('are two errors, beside which a defect is only Lambda’s to count', () => {
    expect(countsOfError(new TaskQError('DATABASE_UNREACHABLE', 'x'))).toEqual({ DatabaseUnreachable: 1 })
    expect(countsOfError(new WrongTargetError('taskq'))).toEqual({ WrongTarget: 1 })
    expect(countsOfError(new TypeError('x'))).toEqual({})
  })
})
