import type { QueueStatus, ScheduleStatus, Status } from '../../core/status.ts'
import { worstMax } from '../gauge.ts'
import { ageText } from './function-status.ts'

/** What of a status is read; the rest follows from it. */
export type StatusParts = Omit<Status, 'schema' | 'healthy' | 'degraded' | 'reasons'>

/**
 * What the parts of a status come to. A queue is healthy while nothing waits longer than it may, whatever its
 * functions and its schedules do.
 */
export function judged(schema: string, unread: readonly string[], read: StatusParts): Status {
  const queues = read.queues?.filter(({ overLimit }) => overLimit) ?? []
  const late = read.schedules?.filter(({ overLimit }) => overLimit) ?? []
  const functions = read.functions?.filter(({ degraded }) => degraded) ?? []
  const schedules = read.schedules?.filter(({ degraded }) => degraded) ?? []
  const isUnknown = read.oldestSnapshot !== null && read.oldestSnapshot.ageSeconds === null
  const isRead = read.queues !== null && read.schedules !== null
  return {
    schema,
    healthy: isRead && queues.length === 0 && late.length === 0,
    degraded: functions.length > 0 || schedules.length > 0,
    reasons: [
      ...queues.map(each => owes(`queue ${each.queue}`, each)),
      ...bounded(late.map(each => owes(`schedule ${each.name}`, each))),
      ...functions.map(each => `${each.function}: ${each.state}`),
      ...bounded(schedules.map(troubleOf)),
      ...unread,
      ...(isUnknown ? [hidden] : []),
    ],
    ...read,
  }
}

const hidden = 'oldestSnapshot: is unknown, because sessions of other logins are hidden from this one'

type Owing = Pick<QueueStatus & ScheduleStatus, 'oldestUnclaimedAgeSeconds' | 'unclaimedLimitSeconds'>

function owes(who: string, { oldestUnclaimedAgeSeconds, unclaimedLimitSeconds }: Owing): string {
  const [age, most] = [ageText(oldestUnclaimedAgeSeconds ?? 0), ageText(unclaimedLimitSeconds)]
  return `${who}: its oldest unclaimed job is due for ${age}, and may wait ${most}`
}

function troubleOf({ name, enabled, consecutiveFailures, ...of }: ScheduleStatus): string {
  const why = of.lastFireError === null ? '' : `: ${of.lastFireError}`
  const since = of.deferredSince === null ? '' : ` since ${of.deferredSince.toISOString()}`
  const state = enabled
    ? `is put off${since}`
    : `is switched off after ${consecutiveFailures} failures in a row`
  return `schedule ${name}: ${state}${why}`
}

/** Ten thousand schedules may have one cause: the first few tell it. */
function bounded(reasons: readonly string[]): string[] {
  const more = reasons.length - worstMax
  return more > 0 ? [...reasons.slice(0, worstMax), `and ${more} more schedules like it`] : [...reasons]
}
