import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { actorsIn } from '../../../shared/client/definitions.ts'
import { type SyncReport, syncActors } from '../../../shared/client/sync-actors.ts'
import { InvalidInputError } from '../../../shared/core/errors.ts'
import type { Answer } from '../answer.ts'
import { withDatabase } from '../open-database.ts'
import type { Verb } from '../verb.ts'

export const syncVerb: Verb = {
  name: 'sync',
  summary: 'stores actors as the definitions module exports them; what operators set stays',
  words: [],
  flags: {
    definitions: {
      value: 'PATH',
      doc: 'the module that exports `actors`; else taskq.definitions of package.json in this folder',
    },
  },
  run: async ({ settings, text }) => {
    const actors = actorsIn(await importModule(text('definitions') ?? (await configuredPath())))
    const report = await withDatabase(settings, {}, connection => syncActors(connection, actors, settings))
    return { json: report, text: describe(report) } satisfies Answer
  },
}

async function configuredPath(): Promise<string> {
  const missing = (reason: string, cause?: unknown) =>
    new InvalidInputError('USAGE', '--definitions', `is missing, and ${reason}`, { cause })
  const text = await readFile('package.json', 'utf8').catch(cause => {
    throw missing('this folder has no package.json', cause)
  })
  let path: unknown
  try {
    path = JSON.parse(text)?.taskq?.definitions
  } catch (cause) {
    throw missing('package.json is not JSON', cause)
  }
  if (typeof path === 'string') return path
  throw missing('package.json has no text at taskq.definitions')
}

async function importModule(path: string): Promise<unknown> {
  try {
    return await import(pathToFileURL(resolve(path)).href)
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new InvalidInputError('USAGE', '--definitions', `${path} cannot be imported: ${message}`, { cause })
  }
}

function describe({ schema, created, changed, unchanged }: SyncReport): string {
  const named = (what: string, actors: readonly string[]) =>
    actors.length === 0 ? [] : [`${what} ${actors.join(', ')}`]
  const parts = [...named('created', created), ...named('changed', changed), `${unchanged} unchanged`]
  return `schema ${schema}: ${parts.join('; ')}`
}
