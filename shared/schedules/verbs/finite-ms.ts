import { type Fragment, sql } from '../../sql/statement.ts'

/**
 * SQL of an instant that a verb answers with, in whole milliseconds. As a number it is read alike whatever a
 * session, its role or its database says of how dates are printed. One that never comes, or lies beyond the
 * last of a Date, stands only in a row that was made by hand: it is told as none.
 */
export const finiteMs = (instant: Fragment<unknown>) => sql`case
      when ${instant} > '-infinity' and ${instant} < '275760-09-13 00:00Z'
      then ceil(extract(epoch from ${instant}) * 1000)::int8 end`

export const dateOf = (ms: number | null) => (ms === null ? null : new Date(ms))
