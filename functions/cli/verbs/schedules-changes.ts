import type { NewSchedule } from '../../../shared/schedules/verbs/create.ts'
import type { ScheduleChanged } from '../../../shared/schedules/verbs/verb-ports.ts'
import type { Answer } from '../answer.ts'
import { definitionsFlag } from '../definitions-module.ts'
import { operatorOf, reasonFlag } from '../operator.ts'
import { clearFlag, scheduleFlags, scheduleOptionsOf } from '../schedule-options.ts'
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
    summary: 'changes what a schedule is; what was due before stays owed as it was',
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
]

type Change = Parameters<typeof scheduling<ScheduleChanged>>[1]

/** `{name, changed, revision, nextAt, note}`; `changed` is false where it was so already. */
async function changed(call: Call, change: Change, defines = false): Promise<Answer> {
  const done = await scheduling(call, change, defines)
  return { json: done, text: `${done.name}: ${done.note}${done.changed ? '' : ': nothing has changed'}` }
}

function reasonOf(call: Call): { reason?: string } {
  const { reason } = operatorOf(call)
  return reason === null ? {} : { reason }
}
