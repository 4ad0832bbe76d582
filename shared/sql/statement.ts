import type { PgType, ValueOf } from './types.ts'

/** Stands for the deployment's schema in a template: nothing ever relies on the search path. */
export const schema = Symbol('schema')

/** A named, typed parameter. The same name used twice is one parameter. */
export interface Arg<Name extends string, T> {
  readonly arg: Name
  readonly type: PgType<T>
}

/**
 * A parameter of a statement, cast to its type where it stands.
 *
 * @example
 * sql`select ${arg('limit', int4)}` // select $1::int4
 */
export function arg<const Name extends string, T>(name: Name, type: PgType<T>): Arg<Name, T> {
  return { arg: name, type }
}

type Hole = typeof schema | Arg<string, unknown> | Fragment<unknown>

type ArgsOfHole<H> =
  H extends Fragment<infer A> ? A : H extends Arg<infer Name, infer T> ? { readonly [N in Name]: T } : unknown

type Intersect<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer I) => void ? I : never
type ArgsOfHoles<H extends readonly unknown[]> = Intersect<H[number] extends infer U ? ArgsOfHole<U> : never>

/** A piece of SQL with the parameters that it needs; fragments nest. */
export interface Fragment<Args> {
  readonly strings: readonly string[]
  readonly holes: readonly Hole[]
  readonly _args?: (args: Args) => void
}

/**
 * Writes SQL as data: what stands in a hole is the schema, a parameter or another fragment, never text.
 *
 * @example
 * const due = sql`scheduled_at <= statement_timestamp()`
 * const mine = sql`queue = ${arg('queue', text)}`
 * const count = sql`select count(*)::int8 as jobs from ${schema}.jobs where ${due} and ${mine}`
 */
export function sql<const H extends readonly unknown[]>(
  strings: TemplateStringsArray,
  ...holes: H
): Fragment<ArgsOfHoles<H>> {
  return { strings, holes: holes as unknown as readonly Hole[] }
}

/**
 * A text that stands in a statement for good, such as a function's own name; what differs from call to call
 * is a parameter.
 *
 * @example
 * const mine = sql`function = ${literal('promotion')}` // function = 'promotion'
 */
export function literal(value: string): Fragment<unknown> {
  return { strings: [quoteLiteral(value)], holes: [] }
}

/** The columns that a statement returns, by name. */
export type Columns = Readonly<Record<string, PgType<unknown>>>

/** One statement: its SQL and its row. A test prepares each on the schema and compares what it returns. */
export interface Statement<Row, Args> {
  readonly name: string
  readonly columns: Columns
  readonly fragment: Fragment<Args>
  readonly _row?: Row
}

type RowOf<C> = { -readonly [Name in keyof C]: ValueOf<C[Name]> }

/**
 * Declares a statement: its name in kebab-case, the columns of its rows, and its SQL.
 *
 * @example
 * const countJobs = statement('count-jobs', { jobs: int8 }, sql`select count(*) as jobs from ${schema}.jobs`)
 */
export function statement<const C extends Columns, Args>(
  name: string,
  columns: C,
  fragment: Fragment<Args>,
): Statement<RowOf<C>, Args> {
  return Object.freeze({ name, columns, fragment })
}

/** A statement's text for one schema, and the names of its parameters in order. */
export interface Rendered {
  readonly text: string
  readonly parameters: readonly Arg<string, unknown>[]
}

const rendered = new WeakMap<Fragment<never>, Map<string, Rendered>>()

/** The text of a fragment in one schema; rendered once and kept. */
export function render<Args>(fragment: Fragment<Args>, schemaName: string): Rendered {
  const bySchema = rendered.get(fragment) ?? new Map<string, Rendered>()
  rendered.set(fragment, bySchema)
  const kept = bySchema.get(schemaName)
  if (kept !== undefined) return kept
  const parameters: Arg<string, unknown>[] = []
  const fresh = { text: write(fragment, quoteIdentifier(schemaName), parameters), parameters }
  bySchema.set(schemaName, fresh)
  return fresh
}

function write(fragment: Fragment<never>, schemaText: string, parameters: Arg<string, unknown>[]): string {
  return fragment.strings.reduce((text, part, index) => {
    const hole = fragment.holes[index - 1]
    if (hole === schema) return text + schemaText + part
    if (typeof hole === 'object' && 'arg' in hole) return text + parameter(hole, parameters) + part
    return text + write(hole as Fragment<never>, schemaText, parameters) + part
  })
}

function parameter(hole: Arg<string, unknown>, parameters: Arg<string, unknown>[]): string {
  const known = parameters.findIndex(other => other.arg === hole.arg)
  const position = known >= 0 ? known + 1 : parameters.push(hole)
  return `$${position}::${hole.type.name}`
}

/** The values of a rendered statement's parameters, in order. */
export function bind(parameters: readonly Arg<string, unknown>[], args: unknown): unknown[] {
  const given = args as Readonly<Record<string, unknown>>
  return parameters.map(({ arg: name, type }) => type.encode(given[name]))
}

/** An identifier that is safe in SQL text. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** A text literal that is safe in SQL text, whatever `standard_conforming_strings` says. */
export function quoteLiteral(value: string): string {
  const quoted = `'${value.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`
  return value.includes('\\') ? `e${quoted}` : quoted
}
