import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type FileStatement, splitStatements } from './split-statements.ts'

/** One numbered file of migrations/: forward only, and never changed once it is released. */
export interface MigrationFile {
  /** As the file is called. */
  readonly file: string
  readonly version: number
  readonly name: string
  readonly statements: readonly FileStatement[]
  /** SHA-256 of the text, in hex. */
  readonly checksum: string
  /** False: its statements run one by one, outside a transaction. */
  readonly isTransactional: boolean
  /** The indexes that a file outside a transaction builds. */
  readonly indexes: readonly string[]
}

/** Put in by the bundler as `[file name, text]` pairs, so that a bundle reads nothing from disk. */
declare const EMBEDDED_MIGRATIONS: readonly (readonly [string, string])[] | undefined

/** Every migration, in order: from the bundle itself, or from the folder beside the sources. */
export function migrationFiles(): MigrationFile[] {
  const files = typeof EMBEDDED_MIGRATIONS === 'undefined' ? readFolder() : EMBEDDED_MIGRATIONS
  return files.map(([file, sql]) => migrationFile(file, sql)).sort((a, b) => a.version - b.version)
}

/** The folder's files as `[file name, text]` pairs: what the bundler embeds. */
export function readFolder(): [string, string][] {
  const folder = join(import.meta.dirname, '../../migrations')
  const names = readdirSync(folder).filter(name => name.endsWith('.sql'))
  return names.sort().map(name => [name, readFileSync(join(folder, name), 'utf8')])
}

/** Reads one file: its name, its header and its statements. */
export function migrationFile(file: string, sql: string): MigrationFile {
  const [, version, name] = /^(\d{4})_([a-z0-9_]+)\.sql$/.exec(file) ?? []
  if (version === undefined || name === undefined) throw new Error(`${file} is not named NNNN_name.sql`)
  const statements = splitStatements(sql)
  const isTransactional = !isMarked(file, sql)
  return {
    file,
    version: Number(version),
    name,
    statements,
    checksum: createHash('sha256').update(sql).digest('hex'),
    isTransactional,
    indexes: isTransactional ? [] : statements.flatMap(statement => indexBuiltBy(file, statement)),
  }
}

/** Whether the file's first lines say that it runs outside a transaction. No other mark is known. */
function isMarked(file: string, sql: string): boolean {
  const [, mark] = /^-- *taskq: *(.*?) *$/m.exec(sql) ?? []
  if (mark === undefined) return false
  const stands = /^(--.*\n)*?-- taskq: non-transactional\n/.test(sql)
  if (stands) return true
  throw new Error(`${file}: "taskq: ${mark}" is no mark that can stand there; there is non-transactional`)
}

/**
 * The index that a statement of a file outside a transaction builds. An interrupted file runs again from its
 * first statement, so what is built already must be skipped, and what is half-built must be known by name.
 */
function indexBuiltBy(file: string, { text, line }: FileStatement): string[] {
  if (!/^create\s+(unique\s+)?index\b/i.test(text)) return []
  const [, , name] =
    /^create\s+(unique\s+)?index\s+concurrently\s+if\s+not\s+exists\s+(\w+)\s+on\b/i.exec(text) ?? []
  if (name !== undefined) return [name]
  throw new Error(`${file}:${line}: write "create index concurrently if not exists name": it must run again`)
}
