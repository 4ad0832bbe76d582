import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InvalidInputError } from '../../shared/core/errors.ts'
import type { Call } from './verb.ts'

/** The flag of every verb that reads the user's definitions. */
export const definitionsFlag = {
  value: 'PATH',
  doc: 'the module of definitions; else taskq.definitions of package.json in this folder',
} as const

/** What the definitions module exports; a verb that cannot do without it refuses where there is none. */
export async function definitionsModule({ text }: Pick<Call, 'text'>): Promise<unknown> {
  return importModule(text('definitions') ?? (await configuredPath()))
}

/** The same, or undefined where none is named; one that is named and cannot be read is refused, too. */
export async function definitionsIfAny({ text }: Pick<Call, 'text'>): Promise<unknown> {
  const path = text('definitions') ?? (await configuredPath().catch(() => undefined))
  return path === undefined ? undefined : importModule(path)
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
