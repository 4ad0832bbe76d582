import { jobIds } from '../../client/job-id.ts'
import { InvalidInputError } from '../../core/errors.ts'
import type { Runner } from '../../sql/connection.ts'
import { arg, schema, sql, statement } from '../../sql/statement.ts'
import { int8, jsonb, type PgType, textArray, uuid } from '../../sql/types.ts'
import { type EarlierTerms, merged, nominalMsOf, partsOf } from '../firing.ts'
import type { Instant, Recurrence } from '../recurrence/recurrence.ts'
import { earlierSince, msOf } from '../tick/due-schedules.ts'
import type { PlannedInstant } from '../tick/fire.ts'
import { plannedInstant } from '../tick/plan-schedule.ts'
import { fireInstants } from './fire-by-hand.ts'
import type { HeldSchedule } from './held-schedule.ts'
import { ownPayload } from './own-payload.ts'
import { momentOf } from './simulate.ts'
import {
  type Found,
  living,
  lockLiving,
  type Reasoned,
  readOne,
  requireSame,
  type VerbPorts,
} from './verb-ports.ts'

export interface BackfillOptions extends Reasoned {
  /** The range of nominal instants, both ends included; it ends in the past. */
  readonly from: Date
  readonly to: Date
}

export interface Backfilled {
  readonly name: string
  /** Jobs that were stored. */
  readonly fired: number
  /** Instants that had been decided already. */
  readonly existing: number
  /** False: its actor takes no more jobs at present; the same call goes on with the rest later. */
  readonly complete: boolean
}

/** A schedule's definitions of before, since its first. */
export const readHistory = statement(
  'read-schedule-history',
  { earlier: jsonb.orNull as PgType<unknown> as PgType<EarlierTerms[] | null> },
  sql`select ${earlierSince(sql`'-infinity'::timestamptz`)} as earlier
  from ${schema}.schedules s where s.id = ${arg('id', uuid)}`,
)

export const readOccurrences = statement(
  'read-schedule-occurrences',
  { dueMs: int8 },
  sql`select ${msOf(sql`o.due_at`)} as "dueMs"
  from ${schema}.schedule_occurrences o
  where o.schedule_id = ${arg('id', uuid)}
    and o.due_at = any (array(select due::timestamptz from unnest(${arg('dues', textArray)}) as due))`,
)

/** No smear is longer. */
const smearMsMax = 86_400_000

/**
 * Fires instants of a deliverable that lie in the past and that nobody has decided about, in batches that
 * commit by themselves. They are those of the definitions that held at their time; the first of these held
 * for all time before it. The cursor stays; what it comes to later and is fired here is not fired again.
 */
export async function backfillSchedule(
  ports: VerbPorts,
  name: string,
  { from, to, reason }: BackfillOptions,
): Promise<Backfilled> {
  const [fromMs, toMs] = [momentOf('from', from), momentOf('to', to)]
  if (toMs < fromMs) throw new InvalidInputError('OPTION_INVALID', 'to', 'is before from')
  const sum = { name, fired: 0, existing: 0, complete: true }
  for (let afterMs = fromMs - 1; ; ) {
    const batch = await readBatch(ports, name, afterMs, fromMs, toMs)
    const last = batch.instants.at(-1)
    if (last === undefined) return sum
    const done = await fireBatch(ports, batch, reason ?? null)
    sum.fired += done.fired
    sum.existing += batch.instants.length - done.missing
    if (done.missing > done.fired) return { ...sum, complete: false }
    afterMs = last.atMs
  }
}

interface Batch {
  readonly held: HeldSchedule
  readonly instants: readonly Instant[]
  readonly planned: readonly PlannedInstant[]
}

/** The next instants of the range, in the order in which they fire, with payloads for those not decided. */
async function readBatch(
  ports: VerbPorts,
  name: string,
  afterMs: number,
  fromMs: number,
  toMs: number,
): Promise<Batch> {
  const { found, recurrence } = await ports.transact(async transaction => {
    const read = await readOne(transaction, name)
    const [history] = await transaction.run(readHistory, { id: read.held.id })
    return { found: read, recurrence: recurrenceOfAll(read.held, history?.earlier ?? []) }
  })
  const held = living(found.held, name)
  const { nowMs } = found
  if (held.definition.shape !== 'deliverable') {
    throw new InvalidInputError('OPTION_INVALID', 'name', `"${name}" is an intent: of those nothing is owed`)
  }
  if (toMs > nowMs) throw new InvalidInputError('OPTION_INVALID', 'to', 'is not in the past')
  const instants = instantsOf(recurrence, afterMs, fromMs, toMs, ports.settings.cronMaxCatchUp)
  const newJobId = jobIds(() => nowMs)
  const planned: PlannedInstant[] = []
  for (const instant of await ports.transact(transaction => missingOf(transaction, held, instants))) {
    // What the cursor has not come to is late; what nobody owed is due as it is asked for.
    const isOwed = held.cursorMs !== null && instant.atMs >= held.cursorMs
    const plain = plannedInstant(instant, planned.length, newJobId())
    const at = isOwed ? plain.at : found.now
    const payload = await ownPayload(ports, held, new Date(plain.due), isOwed ? nowMs - instant.atMs : 0)
    planned.push({ ...plain, at, ...payload })
  }
  return { held, instants, planned }
}

async function fireBatch({ transact, principal }: VerbPorts, batch: Batch, reason: string | null) {
  const { held, planned } = batch
  if (planned.length === 0) return { fired: 0, missing: 0 }
  return transact(async transaction => {
    const locked: Found = await lockLiving(transaction, held.name)
    requireSame(held, locked.held)
    const dues = planned.map(({ due }) => due)
    const taken = new Set(
      (await transaction.run(readOccurrences, { id: held.id, dues })).map(row => row.dueMs),
    )
    const fires = planned.filter(({ due }) => !taken.has(Date.parse(due)))
    if (fires.length === 0) return { fired: 0, missing: 0 }
    const note = `backfilled from ${fires[0]?.due} to ${fires.at(-1)?.due}; the cursor stays`
    const done = await fireInstants(transaction, locked, fires, {
      action: 'backfill',
      principal,
      reason,
      note,
    })
    return { fired: done.fired, missing: fires.length }
  })
}

async function missingOf(transaction: Runner, { id }: HeldSchedule, instants: readonly Instant[]) {
  const dues = instants.map(instant => new Date(nominalMsOf(instant)).toISOString())
  const taken = new Set((await transaction.run(readOccurrences, { id, dues })).map(({ dueMs }) => dueMs))
  return instants.filter(instant => !taken.has(nominalMsOf(instant)))
}

/** The instants of every definition, the first of which holds for all time before it. */
const recurrenceOfAll = (held: HeldSchedule, earlier: readonly EarlierTerms[]): Recurrence =>
  merged(partsOf(held.id, held, earlier))

function instantsOf(recurrence: Recurrence, afterMs: number, fromMs: number, toMs: number, max: number) {
  const instants: Instant[] = []
  let next = recurrence.next(afterMs)
  while (next !== undefined && next.atMs <= toMs + smearMsMax && instants.length < max) {
    const nominalMs = nominalMsOf(next)
    if (nominalMs >= fromMs && nominalMs <= toMs) instants.push(next)
    next = recurrence.next(next.atMs)
  }
  return instants
}
