import type { NewSchedule } from '../../../shared/schedules/verbs/create.ts'
import type { RanNow } from '../../../shared/schedules/verbs/run-now.ts'
import type { ScheduleChanged } from '../../../shared/schedules/verbs/verb-ports.ts'
import type { Answer } from '../answer.ts'
import { definitionsFlag } from '../definitions-module.ts'
import { some } from '../describe-result.ts'
import { exitCodes } from '../exit-code.ts'
import { operatorOf, reasonFlag } from '../operator.ts'
import { payloadFlag, readPayload } from '../payload-argument.ts'
import { clearFlag, requiredInstant, scheduleFlags, scheduleOptionsOf } from '../schedule-options.ts'
import { scheduling } from '../scheduling.ts'
import type { Call, Verb } from '../verb.ts'

const named = { words: ['NAME'], flags: { reason: reasonFlag } }
const defining = { ...scheduleFlags, definitions: definitionsFlag, reason: reasonFlag }

/** What changes a schedule: each leaves a decision, and a row of the audit. */
export const schedulesChanges: readonly Verb[] = [
  {
    name: 'schedules create',
    summary: 'creates a schedule, or one that was retired anew',
    words: ['NAME'],
    flags: defining,
    run: call =>
      changed(
        call,
        async schedules => {
          const options = { name: call.words[0] ?? '', ...(await scheduleOptionsOf(call)) }
          return schedules.create(options as NewSchedule, reasonOf(call))
        },
        true,
      ),
  },
  {
    name: 'schedules edit',
    summary: 'changes what a schedule is; what was due before stays owed at its times',
    words: ['NAME'],
    flags: { ...defining, clear: clearFlag },
    run: call =>
      changed(
        call,
        async schedules => schedules.edit(call.words[0] ?? '', await scheduleOptionsOf(call), reasonOf(call)),
        true,
      ),
  },
  {
    ...named,
    name: 'schedules pause',
    summary: 'fires nothing until it is resumed; what falls due meanwhile stays owed',
    run: call => changed(call, schedules => schedules.pause(call.words[0] ?? '', reasonOf(call))),
  },
  {
    name: 'schedules resume',
    summary: 'fires again, whoever disabled it',
    words: ['NAME'],
    flags: {
      'drop-missed': { doc: 'leave behind what it owes, and say what that was' },
      reason: reasonFlag,
    },
    run: call =>
      changed(call, schedules => {
        const missed = call.has('drop-missed') ? 'drop' : 'keep'
        return schedules.resume(call.words[0] ?? '', { missed, ...reasonOf(call) })
      }),
  },
  {
    ...named,
    name: 'schedules retire',
    summary: 'ends a schedule for good, and says what it owed',
    run: call => changed(call, schedules => schedules.retire(call.words[0] ?? '', reasonOf(call))),
  },
  {
    name: 'schedules run-now',
    summary: 'fires a schedule once more at this moment; its cursor stays',
    words: ['NAME'],
    flags: { payload: payloadFlag, definitions: definitionsFlag, reason: reasonFlag },
    run: runNow,
  },
  {
    name: 'schedules backfill',
    summary: 'fires what of a deliverable lies in a past range and was never decided',
    words: ['NAME'],
    flags: {
      from: { value: 'INSTANT', doc: 'where the range begins, as in 2026-03-01T00:00Z' },
      to: { value: 'INSTANT', doc: 'where it ends, in the past; both are part of it' },
      definitions: definitionsFlag,
      reason: reasonFlag,
    },
    run: backfill,
  },
]

type Change = Parameters<typeof scheduling<ScheduleChanged>>[1]

/** `{name, changed, revision, nextAt, note}`; `changed` is false where it was so already. */
async function changed(call: Call, change: Change, defines = false): Promise<Answer> {
  const done = await scheduling(call, change, defines)
  return { json: done, text: `${done.name}: ${done.note}${done.changed ? '' : ': nothing has changed'}` }
}

/**
 * `{name, outcome, jobId, superseded}`. What an intent leaves out is done as it says; it fails where there
 * was no room for the job of a deliverable, which is owed.
 */
async function runNow(call: Call): Promise<Answer> {
  const given = call.text('payload')
  const payload = given === undefined ? {} : { payload: await readPayload(given) }
  const options = { ...payload, ...reasonOf(call) }
  const ran = await scheduling(call, schedules => schedules.runNow(call.words[0] ?? '', options), true)
  const exitCode = ran.outcome === 'deferred' ? exitCodes.failed : exitCodes.done
  return { json: ran, text: `${ran.name}: ${ranWords(ran)}`, exitCode }
}

function ranWords({ outcome, jobId, superseded }: RanNow): string {
  if (outcome === 'skipped_open') return 'left out, as it says: one is open, or its actor takes no more'
  if (outcome === 'deferred') return 'its actor takes no more jobs at present: nothing has changed'
  return `fired ${jobId}${superseded === 0 ? '' : `, which supersedes ${some(superseded, 'job')}`}`
}

/** `{name, fired, existing, complete}`; fails where there was no room for all. */
async function backfill(call: Call): Promise<Answer> {
  const range = { from: requiredInstant(call, 'from'), to: requiredInstant(call, 'to') }
  const options = { ...range, ...reasonOf(call) }
  const done = await scheduling(call, schedules => schedules.backfill(call.words[0] ?? '', options), true)
  const { name, fired, existing, complete } = done
  const ending = complete ? '' : '; its actor takes no more at present: call again for the rest'
  const text = `${name}: fired ${some(fired, 'instant')}, ${existing} decided before${ending}`
  return { json: done, text, exitCode: complete ? exitCodes.done : exitCodes.failed }
}

function reasonOf(call: Call): { reason?: string } {
  const { reason } = operatorOf(call)
  return reason === null ? {} : { reason }
}
