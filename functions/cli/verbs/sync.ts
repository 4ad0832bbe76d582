import { type DefinitionsReport, syncOf } from '../../../shared/schedules/verbs/sync-definitions.ts'
import type { Answer } from '../answer.ts'
import { definitionsFlag, definitionsModule } from '../definitions-module.ts'
import { withDatabase } from '../open-database.ts'
import { operatorOf } from '../operator.ts'
import type { Verb } from '../verb.ts'

export const syncVerb: Verb = {
  name: 'sync',
  summary: 'stores actors and schedules as the definitions module exports them; what operators set stays',
  words: [],
  flags: {
    definitions: definitionsFlag,
  },
  run: async call => {
    const { settings } = call
    const { principal } = operatorOf(call)
    const sync = syncOf(await definitionsModule(call))
    const report = await withDatabase(settings, {}, connection => sync(connection, settings, principal))
    return { json: report, text: describe(report) } satisfies Answer
  },
}

function describe({ schema, created, changed, unchanged, schedules }: DefinitionsReport): string[] {
  const named = (what: string, names: readonly string[]) =>
    names.length === 0 ? [] : [`${what} ${names.join(', ')}`]
  const actors = [...named('created', created), ...named('changed', changed), `${unchanged} unchanged`]
  const { drifted, undeclared, retired, enabled } = schedules
  const parts = [
    ...named('created', schedules.created),
    ...named('revised', schedules.revised),
    `${schedules.unchanged} unchanged`,
    ...named('enabled again', enabled),
  ]
  const isThere = parts.length > 1 || schedules.unchanged > 0
  return [
    `schema ${schema}: ${actors.join('; ')}`,
    ...(isThere ? [`schedules: ${parts.join('; ')}`] : []),
    ...drifted.map(
      ({ name, fields }) => `  ${name} was edited by hand, and is as defined again: ${fields.join(', ')}`,
    ),
    ...retired.map(name => `  ${name} stays retired: create it anew to have it back`),
    ...undeclared.map(name => `  ${name} is in no definition any more and runs on: retire it, or define it`),
  ]
}
