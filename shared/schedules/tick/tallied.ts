import type { BatchRow, Tally } from '../../sweeper/define.ts'
import type { Fired } from './fire.ts'
import type { Trouble } from './trouble.ts'

/** Whether a look at a schedule came to nothing, so that it is due still. */
export const isVain = (outcome: Fired['outcome']) =>
  ['busy', 'stale', 'unknown_actor', 'deferred'].includes(outcome)

/** What a committed transaction adds to the run: schedules decided, and jobs by the way they went. */
export function tallied(
  done: readonly Fired[],
  troubles: readonly Trouble[],
  noted: readonly { isDisabled: boolean }[],
): BatchRow {
  const tally: Tally[] = done.flatMap(({ actor, fired, skipped, superseded, isDeferred }) =>
    Object.entries({ fired, skipped_open: skipped, superseded, deferred: isDeferred ? 1 : 0 }).map(
      ([disposition, rows]) => ({ actor, disposition, rows }),
    ),
  )
  const of = (kind: Trouble['kind']) => troubles.filter(trouble => trouble.kind === kind).length
  const others = {
    deferred: of('defer'),
    struck: of('strike'),
    disabled: noted.filter(n => n.isDisabled).length,
  }
  for (const [disposition, rows] of Object.entries(others)) tally.push({ actor: null, disposition, rows })
  const acted = done.filter(({ outcome }) => !isVain(outcome)).length
  return {
    taken: done.length,
    floor_at: null,
    floor_id: null,
    acted,
    tally: tally.filter(({ rows }) => rows > 0),
  }
}
