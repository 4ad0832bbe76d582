import { cron } from '../../shared/schedules/cron.ts'
import { firingDefinitionsIn } from '../../shared/schedules/firing-definitions.ts'
import { firing } from '../../shared/schedules/tick/tick.ts'
import { routineHandler } from './sweep-handler.ts'

/** Whatever first asks Intl for anything waits 12 ms for its data. */
const loadIntl = () => void new Intl.DateTimeFormat('en-US')

/**
 * The Lambda that fires schedules, with the definitions of whoever deploys it: their payload factories run in
 * it, and the payloads that they make are held to the schemas of their actors.
 */
export function cronHandler(definitions: unknown) {
  return routineHandler(cron, settings => {
    // While the invocation waits for its connection.
    setImmediate(loadIntl)
    return firing(settings, firingDefinitionsIn(definitions))
  })
}
