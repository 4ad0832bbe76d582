import { InvalidInputError } from '../../../shared/core/errors.ts'
import type { QueueStatus, ScheduleStatus, SnapshotStatus, Status } from '../../../shared/core/status.ts'
import { countMax, worstMax } from '../../../shared/sweeper/gauge.ts'
import { expectedOf } from '../../../shared/sweeper/scheduled.ts'
import { ageText } from '../../../shared/sweeper/status/function-status.ts'
import { readStatus, statusTimeoutMs } from '../../../shared/sweeper/status/read-status.ts'
import { routines } from '../../../shared/sweeps/index.ts'
import type { Answer } from '../answer.ts'
import { exitCodes } from '../exit-code.ts'
import { openDatabase } from '../open-database.ts'
import type { Verb } from '../verb.ts'

export const statusVerb: Verb = {
  name: 'status',
  summary: 'says how functions, queues, schedules and workers are, and why if not well',
  words: [],
  flags: { 'fail-on': { value: 'degraded', doc: 'exit 1 where something is degraded, or worse' } },
  run: async ({ text, settings }) => {
    const failOn = text('fail-on')
    if (failOn !== undefined && failOn !== 'degraded') {
      throw new InvalidInputError('USAGE', '--fail-on', `"${failOn}" is not degraded`)
    }
    const status = await readStatus({
      settings,
      expected: expectedOf(routines, settings),
      connect: () => openDatabase(settings, { queryTimeoutMs: statusTimeoutMs * 2 }),
    })
    // What cannot be read cannot be called well.
    const isWell = status.healthy && !status.degraded && status.functions !== null
    const exitCode = failOn === undefined || isWell ? exitCodes.done : exitCodes.failed
    return { json: status, text: describe(status), exitCode } satisfies Answer
  },
}

/** The status for people; the object says more. */
function describe(status: Status): string[] {
  const functions = status.functions?.map(each => {
    const { successAgeSeconds, degraded, state, rowsTotal } = each
    const age = degraded || successAgeSeconds === null ? '' : `, succeeded ${ageText(successAgeSeconds)} ago`
    return `${each.function}: ${state}${age}, ${rowsTotal} rows in all`
  })
  const workers = status.workers?.map(
    each => `${each.name} (${each.kind}), seen ${ageText(each.seenAgeSeconds)} ago`,
  )
  return [
    `schema ${status.schema}: ${headline(status)}`,
    ...status.reasons.map(reason => `  ${reason}`),
    ...section('functions', functions),
    ...section('queues', status.queues?.map(queueLine)),
    ...scheduleLines(status.schedules),
    ...section('workers', workers),
    `feed: ${feedLine(status.feed)}`,
    `oldest snapshot: ${snapshotLine(status.oldestSnapshot)}`,
  ]
}

function headline({ healthy, degraded }: Status): string {
  if (!healthy) return 'not healthy'
  return degraded ? 'healthy, but degraded' : 'healthy'
}

function section(name: string, lines: readonly string[] | undefined): string[] {
  if (lines === undefined) return [`${name}: unknown`]
  return lines.length === 0 ? [`${name}: none`] : [name, ...lines.map(line => `  ${line}`)]
}

function queueLine({ queue, counts, paused, oldestUnclaimedAgeSeconds: age }: QueueStatus): string {
  const counted = (count: number) => (count >= countMax ? `${countMax}+` : String(count))
  const parts = Object.entries(counts).map(([name, count]) => `${counted(count)} ${name}`)
  const waits = age === null ? '' : `, the oldest unclaimed for ${ageText(age)}`
  return `${queue}: ${parts.join(', ')}${waits}${paused ? ' (paused)' : ''}`
}

/** Thousands of them are well: only the others are named, those that owe work first. */
function scheduleLines(schedules: readonly ScheduleStatus[] | null): string[] {
  if (schedules === null || schedules.length === 0) return section('schedules', schedules?.map(scheduleLine))
  const isTroubled = ({ overLimit, degraded }: ScheduleStatus) => overLimit || degraded
  const troubled = schedules.filter(isTroubled)
  const all = schedules.length >= countMax ? `${countMax}+` : String(schedules.length)
  const named = troubled.slice(0, worstMax).map(each => `  ${scheduleLine(each)}`)
  return [`schedules: ${all}, ${troubled.length} not well`, ...named]
}

function scheduleLine(schedule: ScheduleStatus): string {
  const { name, actor, enabled, disabledBy, degraded, overLimit, oldestUnclaimedAgeSeconds: age } = schedule
  const off = disabledBy === null ? 'off' : `off by ${disabledBy}`
  const state = enabled ? (degraded ? 'put off' : 'on') : off
  const waits = age === null ? '' : `, the oldest unclaimed for ${ageText(age)}`
  const most = overLimit ? `, ${ageText(schedule.unclaimedLimitSeconds)} allowed` : ''
  return `${name} (${actor}): ${state}${waits}${most}`
}

function feedLine(feed: Status['feed']): string {
  if (feed === null) return 'unknown'
  return feed.horizonLagSeconds === null ? 'up to date' : `behind by ${ageText(feed.horizonLagSeconds)}`
}

function snapshotLine(snapshot: SnapshotStatus | null): string {
  if (snapshot === null || snapshot.ageSeconds === null) return 'unknown'
  if (snapshot.holder === null) return 'none over 5 min'
  const { pid, user, application, database, state } = snapshot.holder
  const who =
    pid === null ? `the prepared transaction "${application}"` : `pid ${pid}, ${application}, ${state}`
  return `${ageText(snapshot.ageSeconds)}: ${who}, of ${user} in ${database}`
}
