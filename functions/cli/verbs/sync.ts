import { actorsIn } from '../../../shared/client/definitions.ts'
import { type SyncReport, syncActors } from '../../../shared/client/sync-actors.ts'
import type { Answer } from '../answer.ts'
import { definitionsFlag, definitionsModule } from '../definitions-module.ts'
import { withDatabase } from '../open-database.ts'
import type { Verb } from '../verb.ts'

export const syncVerb: Verb = {
  name: 'sync',
  summary: 'stores actors as the definitions module exports them; what operators set stays',
  words: [],
  flags: {
    definitions: definitionsFlag,
  },
  run: async call => {
    const { settings } = call
    const actors = actorsIn(await definitionsModule(call))
    const report = await withDatabase(settings, {}, connection => syncActors(connection, actors, settings))
    return { json: report, text: describe(report) } satisfies Answer
  },
}

function describe({ schema, created, changed, unchanged }: SyncReport): string {
  const named = (what: string, actors: readonly string[]) =>
    actors.length === 0 ? [] : [`${what} ${actors.join(', ')}`]
  const parts = [...named('created', created), ...named('changed', changed), `${unchanged} unchanged`]
  return `schema ${schema}: ${parts.join('; ')}`
}
