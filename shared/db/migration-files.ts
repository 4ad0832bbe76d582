import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'

/** One numbered file of migrations/: forward only, and never changed once it is released. */
export interface MigrationFile {
  readonly version: number
  readonly name: string
  readonly sql: string
  /** SHA-256 of the text, in hex. */
  readonly checksum: string
}

/** Put in by the bundler as `[file name, text]` pairs, so that a bundle reads nothing from disk. */
declare const EMBEDDED_MIGRATIONS: readonly (readonly [string, string])[] | undefined

/** Every migration, in order: from the bundle itself, or from the folder beside the sources. */
export function migrationFiles(): MigrationFile[] {
  const files = typeof EMBEDDED_MIGRATIONS === 'undefined' ? readFolder() : EMBEDDED_MIGRATIONS
  return files.map(([file, sql]) => describe(file, sql)).sort((a, b) => a.version - b.version)
}

/** The folder's files as `[file name, text]` pairs: what the bundler embeds. */
export function readFolder(): [string, string][] {
  const folder = new URL('../../migrations/', import.meta.url)
  const names = readdirSync(folder).filter(name => name.endsWith('.sql'))
  return names.sort().map(name => [name, readFileSync(new URL(name, folder), 'utf8')])
}

function describe(file: string, sql: string): MigrationFile {
  const [, version, name] = /^(\d{4})_([a-z0-9_]+)\.sql$/.exec(file) ?? []
  if (version === undefined || name === undefined) throw new Error(`${file} is not named NNNN_name.sql`)
  return { version: Number(version), name, sql, checksum: createHash('sha256').update(sql).digest('hex') }
}
