import type { StandardSchemaV1 } from '@standard-schema/spec'
import { InvalidInputError } from '../../core/errors.ts'
import { type Backfilled, type BackfillOptions, backfillSchedule } from './backfill.ts'
import { createSchedule, type NewSchedule } from './create.ts'
import { editSchedule, type ScheduleEdit } from './edit.ts'
import { type Explanation, explainSchedule } from './explain.ts'
import { type ListedSchedule, type ListOptions, oneSchedule, pageOfSchedules } from './list.ts'
import { type RanNow, type RunNowOptions, runScheduleNow } from './run-now.ts'
import { type SimulateOptions, type Simulation, simulateOutage } from './simulate.ts'
import { pauseSchedule, type ResumeOptions, resumeSchedule, retireSchedule } from './switch.ts'
import type { Reasoned, ScheduleChanged, VerbPorts } from './verb-ports.ts'

/**
 * What can be done to schedules, and asked of them. Every change leaves a decision that says what became of
 * the cursor and of the instants that were owed, and a row of the audit; instants are the database's. Every
 * verb but `create` refuses a name that is not there as `SCHEDULE_UNKNOWN`, and each that changes something
 * says `LOCK_TIMEOUT` where another transaction holds the schedule.
 */
export interface Schedules {
  /**
   * Creates a schedule, or one that was retired anew; it first fires at its first instant from now on.
   * Refused, with nothing stored: what `defineSchedule` refuses, a payload that is not the actor's
   * (`PAYLOAD_INVALID`), a name that is taken (`SCHEDULE_EXISTS`), a bare name of an actor that is not known
   * (`ACTOR_UNKNOWN`). A payload factory, and the payload of an actor that is a bare name, cannot be checked
   * in an application, and the note says so: a factory that cron does not know counts as a failure.
   *
   * @example
   * await taskq.schedules.create({
   *   name: 'monthly-invoice', actor: bill, cron: '0 6 1 * *', deliverable: {}, payload: {},
   * })
   */
  create<Payload extends StandardSchemaV1>(
    schedule: NewSchedule<Payload>,
    options?: Reasoned,
  ): Promise<ScheduleChanged>
  /**
   * Changes any option but the name; null takes `queue`, `maxUnclaimedAge`, `startAt` or `endAt` back. What
   * was due before stays owed at its old times, and by its old answers for missed runs and open instances; it
   * fires with the payload, queue and actor of now, so that an edit can mend what fails. To make an intent of
   * a deliverable that owes something takes a reason.
   *
   * @example
   * await taskq.schedules.edit('daily-post', { cron: '0 8 * * *' }, { reason: 'summer time' })
   */
  edit<Payload extends StandardSchemaV1>(
    name: string,
    changes: ScheduleEdit<Payload>,
    options?: Reasoned,
  ): Promise<ScheduleChanged>
  /** Fires nothing until it is resumed; what falls due meanwhile stays owed. */
  pause(name: string, options?: Reasoned): Promise<ScheduleChanged>
  /** Fires again, whoever disabled it. `missed: 'drop'` leaves behind what is owed, and says what it was. */
  resume(name: string, options?: ResumeOptions): Promise<ScheduleChanged>
  /** Ends it for good. A deliverable that owes something takes a reason. */
  retire(name: string, options?: Reasoned): Promise<ScheduleChanged>
  /**
   * One more job at this moment; the cursor stays. Where a factory makes the payloads, one must be given
   * here, since an application has no factories (`OPTION_INVALID` at `payload`).
   */
  runNow(name: string, options?: RunNowOptions): Promise<RanNow>
  /**
   * Fires what of a deliverable lies in a range of the past and was never decided. It can be called again.
   *
   * @example
   * await taskq.schedules.backfill('monthly-invoice', { from: new Date('2026-01-01'), to: new Date() })
   */
  backfill(name: string, range: BackfillOptions): Promise<Backfilled>
  /**
   * Schedules in the order of their names, those after `after`, at most `limit` and never over 1000. A full
   * page may not be the last: ask again after its last name, until one is not full.
   */
  list(options?: ListOptions): Promise<ListedSchedule[]>
  /** One schedule as it stands, retired or not, or undefined. */
  get(name: string): Promise<ListedSchedule | undefined>
  /** What it means: in words, in its next instants, and after three days without a tick. */
  explain(name: string): Promise<Explanation>
  /** The decisions that an outage would give. */
  simulate(name: string, outage: SimulateOptions): Promise<Simulation>
}

/** The verbs over their ports. */
export function schedulesOn(ports: VerbPorts): Schedules {
  return Object.freeze({
    create: async (schedule: object, options?: Reasoned) => createSchedule(ports, schedule, given(options)),
    edit: async (name: string, changes: object, options?: Reasoned) =>
      editSchedule(ports, name, changes, given(options)),
    pause: async (name: string, options?: Reasoned) => pauseSchedule(ports, name, given(options)),
    resume: async (name: string, options?: ResumeOptions) => resumeSchedule(ports, name, given(options)),
    retire: async (name: string, options?: Reasoned) => retireSchedule(ports, name, given(options)),
    runNow: async (name: string, options?: RunNowOptions) => runScheduleNow(ports, name, given(options)),
    backfill: async (name: string, range: BackfillOptions) => backfillSchedule(ports, name, given(range)),
    list: async (options?: ListOptions) => pageOfSchedules(ports, given(options)),
    get: (name: string) => oneSchedule(ports, name),
    explain: (name: string) => explainSchedule(ports, name),
    simulate: async (name: string, outage: SimulateOptions) => simulateOutage(ports, name, given(outage)),
  })
}

/** The options of a call; left out, they are none, and the verb says which it cannot do without. */
function given<Options extends object>(options: Options | undefined): Options {
  const all: unknown = options ?? {}
  if (options === null || typeof all !== 'object' || Array.isArray(all)) {
    throw new InvalidInputError('OPTION_INVALID', 'options', 'is no object')
  }
  const { reason } = all as Reasoned
  if (reason !== undefined && typeof reason !== 'string') {
    throw new InvalidInputError('OPTION_INVALID', 'reason', 'is no text')
  }
  return all as Options
}
