import type { Verb } from '../verb.ts'
import { demoVerb } from './demo.ts'
import { devVerb } from './dev.ts'
import { enqueueVerb } from './enqueue.ts'
import { migrateVerb } from './migrate.ts'
import { runVerb } from './run.ts'
import { statusVerb } from './status.ts'

/** Every verb, in the order of the help. */
export const verbs: readonly Verb[] = [devVerb, demoVerb, migrateVerb, runVerb, enqueueVerb, statusVerb]
