import { Cron } from 'croner'
import { CronRefusal, cronerPattern } from './aws-cron.ts'

/** When a rule fires. */
export interface RuleSchedule {
  /** The first instant after another, for a rule created at `since`; null where none comes any more. */
  next(after: Date, since: Date): Date | null
}

const unitMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const

/**
 * Reads a rule's `ScheduleExpression`: `rate(5 minutes)` counts from the rule's creation, `cron(…)` is UTC.
 * What AWS would refuse is refused here too, so that a rule which runs locally also deploys.
 *
 * @example
 * ruleSchedule('cron(0 3 * * ? *)').next(new Date('2026-01-01T12:00Z'), since) // 2026-01-02T03:00Z
 */
export function ruleSchedule(expression: string): RuleSchedule {
  const [, kind, inside] = /^(rate|cron)\((.*)\)$/.exec(expression) ?? []
  if (kind === 'rate') return rate(inside ?? '', expression)
  if (kind === 'cron') return cron(inside ?? '')
  throw new CronRefusal(`${expression}: neither rate(…) nor cron(…)`)
}

function rate(inside: string, expression: string): RuleSchedule {
  const [, countText, unit, plural] = /^([1-9]\d*) (minute|hour|day)(s?)$/.exec(inside) ?? []
  const count = Number(countText)
  if (unit === undefined || (count === 1) !== (plural === '')) {
    throw new CronRefusal(`${expression}: not like rate(1 minute) or rate(5 minutes)`)
  }
  const periodMs = count * unitMs[unit as keyof typeof unitMs]
  return {
    next: (after, since) => {
      const elapsed = Math.floor((after.getTime() - since.getTime()) / periodMs)
      return new Date(since.getTime() + (elapsed + 1) * periodMs)
    },
  }
}

function cron(inside: string): RuleSchedule {
  const pattern = new Cron(cronerPattern(inside), { mode: '7-part', timezone: 'UTC', paused: true })
  return { next: after => pattern.nextRun(after) }
}
