import { boundLaws } from './bounds.ts'
import { concurrencyLaws } from './concurrency.ts'
import { faultLaws } from './faults.ts'
import { moveLaws } from './moves.ts'
import { planLaws } from './plans.ts'
import type { Subject } from './subject.ts'

/**
 * The laws that every scheduled function must pass, given rows that it must take and rows that look like
 * them: what it does to rows, how much at a time, how it finds them, what happens when something goes wrong,
 * and what happens beside another start of itself. They run in every mode.
 */
export function laws(subject: Subject): void {
  moveLaws(subject)
  boundLaws(subject)
  planLaws(subject)
  faultLaws(subject)
  concurrencyLaws(subject)
}
