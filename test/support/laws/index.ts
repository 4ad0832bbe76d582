import { inject } from 'vitest'
import { boundLaws } from './bounds.ts'
import { concurrencyLaws } from './concurrency.ts'
import { contentionLaws } from './contention.ts'
import { drainLaws } from './drains.ts'
import { faultLaws } from './faults.ts'
import { moveLaws } from './moves.ts'
import { planLaws } from './plans.ts'
import { refusalLaws } from './refusals.ts'
import type { Subject } from './subject.ts'

/**
 * The laws that every scheduled function must pass, given rows that it must take and rows that look like
 * them: what it does to rows, how much at a time, how it finds them, what happens when something goes wrong,
 * and what happens beside another start of itself. A function of several arms passes them once an arm. They
 * run in every mode, but for how a statement is planned: that is the server's matter, not the way's to it.
 */
export function laws(subject: Subject): void {
  moveLaws(subject)
  boundLaws(subject)
  if (subject.sweep.drains) drainLaws(subject)
  if (inject('way').plans) planLaws(subject)
  contentionLaws(subject)
  faultLaws(subject)
  refusalLaws(subject)
  concurrencyLaws(subject)
}
