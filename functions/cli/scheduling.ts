import { firingDefinitionsIn } from '../../shared/schedules/firing-definitions.ts'
import { inScheduleTransaction } from '../../shared/schedules/verbs/schedule-transaction.ts'
import { type Schedules, schedulesOn } from '../../shared/schedules/verbs/schedules.ts'
import { definitionsIfAny } from './definitions-module.ts'
import { withDatabase } from './open-database.ts'
import { operatorOf } from './operator.ts'
import { asFlags } from './schedule-options.ts'
import type { Call } from './verb.ts'

/**
 * Does something with the verbs of schedules, on one connection, in the role of maintenance.
 *
 * @param defines - Whether the definitions module has a say. Without, one that cannot be imported keeps
 *   nobody from pausing a schedule.
 */
export function scheduling<T>(
  call: Call,
  work: (schedules: Schedules) => Promise<T>,
  defines = false,
): Promise<T> {
  const { settings } = call
  const { principal } = operatorOf(call)
  return asFlags(
    (async () => {
      const definitions = defines ? firingDefinitionsIn(await definitionsIfAny(call)) : null
      return withDatabase(settings, {}, connection =>
        work(
          schedulesOn({
            transact: inside => inScheduleTransaction(connection, settings, 'maintenance', inside),
            settings,
            principal,
            definitions,
          }),
        ),
      )
    })(),
  )
}
