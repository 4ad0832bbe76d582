/** A Postgres type as a statement uses it: its SQL name, and the value that JavaScript gives or gets. */
export interface PgType<T> {
  readonly name: string
  /** Turns an argument into what the driver sends. */
  encode(value: T): unknown
  /** The same type where a row may hold null, or an argument may be null. */
  readonly orNull: PgType<T | null>
}

function pgType<T>(name: string, encode: (value: T) => unknown = value => value): PgType<T> {
  const orNull = { name, encode: (value: T | null) => (value === null ? null : encode(value)) }
  const nullable = orNull as PgType<T | null>
  Object.defineProperty(nullable, 'orNull', { get: () => nullable })
  return { name, encode, orNull: nullable }
}

export const bool = pgType<boolean>('bool')
export const int4 = pgType<number>('int4')
/** Read as a number: every count and id of ours stays far below 2^53. */
export const int8 = pgType<number>('int8')
export const float8 = pgType<number>('float8')
export const text = pgType<string>('text')
export const uuid = pgType<string>('uuid')
/** Milliseconds are all that a Date holds; where the microseconds matter, select the instant as text. */
export const timestamptz = pgType<Date>('timestamptz')
/** Sent as JSON text, so that an array is one JSON array and not a Postgres one. */
export const jsonb = pgType<unknown>('jsonb', value => JSON.stringify(value))
export const textArray = pgType<readonly string[]>('text[]')
export const nullableTextArray = pgType<readonly (string | null)[]>('text[]')
export const uuidArray = pgType<readonly string[]>('uuid[]')
export const int4Array = pgType<readonly number[]>('int4[]')
export const int8Array = pgType<readonly number[]>('int8[]')

/** The JavaScript value of a type. */
export type ValueOf<P> = P extends PgType<infer T> ? T : never
