import { InvalidInputError } from './errors.ts'

/** Postgres cuts identifiers at 63 bytes; 48 leaves room for what is derived from the schema's name. */
export const schemaNameBytesMax = 48

/** Names of actors and queues: what an index, a metric and a log line can all carry. */
export const nameBytesMax = 255

const identifier = /^[a-z_][a-z0-9_]*$/

/** Whether a text can be a schema's or a role prefix's name without quoting. */
export function isSchemaName(text: string): boolean {
  return identifier.test(text) && text.length <= schemaNameBytesMax && !text.startsWith('pg_')
}

/**
 * The advisory lock of one purpose in one schema. The schema is part of the name because advisory
 * locks are shared by the whole database.
 *
 * @example
 * lockName('promotion', 'taskq') // 'taskq:promotion:taskq'
 */
export function lockName(purpose: string, schema: string): string {
  return `taskq:${purpose}:${schema}`
}

/** Who uses the database beside its owner, who migrates: what each may do stands in shared/db/roles.ts. */
export const databaseRoles = ['client', 'worker', 'maintenance', 'reader'] as const

export type DatabaseRole = (typeof databaseRoles)[number]

/**
 * The database's own name of a role. Roles belong to the whole cluster: the prefix tells deployments apart.
 *
 * @example
 * roleName({ schemaName: 'taskq', rolePrefix: undefined }, 'client') // 'taskq_client'
 */
export function roleName(
  { schemaName, rolePrefix }: { readonly schemaName: string; readonly rolePrefix: string | undefined },
  role: DatabaseRole,
): string {
  return `${rolePrefix ?? schemaName}_${role}`
}

/** Bytes of a text as Postgres stores it. */
export function byteLength(text: string): number {
  let bytes = 0
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
  }
  return bytes
}

/** Refuses what no column, index or metric could hold: an empty name, a long one, or control characters. */
export function checkName(field: string, name: string): void {
  const reason =
    typeof name !== 'string'
      ? 'is no text'
      : name.length === 0
        ? 'is empty'
        : byteLength(name) > nameBytesMax
          ? `is longer than ${nameBytesMax} bytes`
          : /\p{Cc}/u.test(name)
            ? 'holds a control character'
            : undefined
  if (reason !== undefined) throw new InvalidInputError('OPTION_INVALID', field, reason)
}
