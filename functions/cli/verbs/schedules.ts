import type { ListedSchedule } from '../../../shared/schedules/verbs/list.ts'
import { schedulesListedMax } from '../../../shared/schedules/verbs/list.ts'
import type { SimulatedDecision } from '../../../shared/schedules/verbs/simulate.ts'
import type { Answer } from '../answer.ts'
import { wholeNumberFlag } from '../arguments.ts'
import { some } from '../describe-result.ts'
import { instantOf, requiredInstant } from '../schedule-options.ts'
import { scheduling } from '../scheduling.ts'
import type { Call, Verb } from '../verb.ts'
import { schedulesChanges } from './schedules-changes.ts'

/** What can be asked of schedules, and what changes them. */
export const schedulesVerbs: readonly Verb[] = [
  {
    name: 'schedules list',
    summary: 'lists schedules: when each is due next, and what a missed run of it means',
    words: [],
    flags: {
      after: { value: 'NAME', doc: 'only names after this one: the last of the page before' },
      limit: { value: 'N', doc: `at most so many; ${schedulesListedMax}` },
      retired: { doc: 'those that were retired, too' },
    },
    run: list,
  },
  ...schedulesChanges,
  {
    name: 'schedules explain',
    summary: 'says what a schedule means, when it is due next, and what three days down would do',
    words: ['NAME'],
    flags: {},
    run: explain,
  },
  {
    name: 'schedules simulate',
    summary: 'says what the ticks would decide after an outage',
    words: ['NAME'],
    flags: {
      from: { value: 'INSTANT', doc: 'when it begins: what was due before was fired; its cursor' },
      until: { value: 'INSTANT', doc: 'when the first tick after it comes' },
    },
    run: simulate,
  },
]

/** `{schema, schedules: [ListedSchedule], more}`; `more` says whether any come after the last of them. */
async function list(call: Call): Promise<Answer> {
  const after = call.text('after')
  const limit = wholeNumberFlag('limit', call.text('limit'), 1, schedulesListedMax) ?? schedulesListedMax
  const asked = { limit, retired: call.has('retired'), ...(after !== undefined && { after }) }
  const { schedules, more } = await scheduling(call, async verbs => {
    const page = await verbs.list(asked)
    const last = page.at(-1)
    if (last === undefined || page.length < limit) return { schedules: page, more: false }
    const next = await verbs.list({ ...asked, after: last.name, limit: 1 })
    return { schedules: page, more: next.length > 0 }
  })
  const ending = more ? [`… and more: go on with --after ${inShell(schedules.at(-1)?.name ?? '')}`] : []
  const text = schedules.length === 0 ? 'there is no schedule' : [...schedules.map(line), ...ending]
  return { json: { schema: call.settings.schemaName, schedules, more }, text }
}

/** A word as a shell takes it. */
const inShell = (word: string) => (/^[\w./:-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

function line(schedule: ListedSchedule): string {
  const { name, recurrence, timezone, nextAt, lastFiredAt, failures, lastError } = schedule
  return [
    `${name}: ${recurrence} ${timezone}`,
    schedule.shape === 'deliverable' ? 'deliverable' : `${schedule.missed}, ${schedule.onOpen}`,
    stateOf(schedule),
    `next ${instant(nextAt)}`,
    `last fired ${instant(lastFiredAt)}`,
    ...(failures === 0 ? [] : [`failed ${some(failures, 'time')}: ${lastError}`]),
  ].join('; ')
}

function stateOf({ enabled, disabledBy, retiredAt }: ListedSchedule): string {
  if (retiredAt !== null) return 'retired'
  if (enabled) return 'on'
  return disabledBy === 'auto' ? 'off, because it failed' : 'paused'
}

/** The explanation, as the client answers it. */
async function explain(call: Call): Promise<Answer> {
  const explained = await scheduling(call, verbs => verbs.explain(call.words[0] ?? ''))
  const { name, words, next, afterThreeDaysDown } = explained
  const text = [
    name,
    ...words.map(sentence => `  ${sentence}`),
    ...next.map(({ at, local, shifted }) => `  ${local}  ${instant(at)}${shifted ? '  shifted' : ''}`),
    'After three days without a tick from now:',
    ...decisionLines(afterThreeDaysDown.decisions, afterThreeDaysDown.left),
  ]
  return { json: explained, text }
}

/** `{name, enabled, decisions, left}` */
async function simulate(call: Call): Promise<Answer> {
  const from = instantOf(call, 'from')
  const outage = { until: requiredInstant(call, 'until'), ...(from !== undefined && { from }) }
  const simulated = await scheduling(call, verbs => verbs.simulate(call.words[0] ?? '', outage))
  const { name, enabled, decisions, left } = simulated
  const text = [`${name}${enabled ? '' : ': once it is resumed'}`, ...decisionLines(decisions, left)]
  return { json: simulated, text }
}

function decisionLines(decisions: readonly SimulatedDecision[], left: number): string[] {
  if (decisions.length === 0) return ['  nothing is due']
  const lines = decisions.map(({ at, fires, missed, missedFrom, missedTo, cursorTo, onOpen }) => {
    const fired = fires.length === 0 ? 'fires nothing' : `fires ${span(fires[0], fires.at(-1), fires.length)}`
    const behind = missed === 0 ? [] : [`misses ${span(missedFrom, missedTo, missed)}`]
    const met = onOpen === null || onOpen === 'add' ? [] : [openWords[onOpen]]
    return `  ${instant(at)}: ${[fired, ...behind, ...met, `then ${instant(cursorTo)}`].join('; ')}`
  })
  return left === 0 ? lines : [...lines, `  … and ${some(left, 'instant')} more`]
}

const openWords = { supersede: 'supersedes the open one', skipped_open: 'left out: one is open' } as const

function span(first: Date | null | undefined, last: Date | null | undefined, count: number): string {
  if (count === 1) return instant(first ?? null)
  return `${some(count, 'instant')} from ${instant(first ?? null)} to ${instant(last ?? null)}`
}

const instant = (at: Date | null) => at?.toISOString() ?? 'never'
