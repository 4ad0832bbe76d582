import type { Verb } from '../verb.ts'
import { demoVerb } from './demo.ts'
import { devVerb } from './dev.ts'

/**
 * What runs the repository's own stack, with sample jobs. The package has neither: its build puts an empty
 * list in this file's place.
 */
export const verbsOfClone: readonly Verb[] = [devVerb, demoVerb]
