import type { Verb } from '../verb.ts'
import { drainVerb } from './drain.ts'
import { enqueueVerb } from './enqueue.ts'
import { functionsVerbs } from './functions.ts'
import { jobsVerbs } from './jobs.ts'
import { migrateVerb } from './migrate.ts'
import { quarantineVerbs } from './quarantine.ts'
import { runVerb } from './run.ts'
import { schedulesVerbs } from './schedules.ts'
import { statusVerb } from './status.ts'
import { syncVerb } from './sync.ts'
import { verbsOfClone } from './verbs-of-clone.ts'

/** Every verb, in the order of the help. */
export const verbs: readonly Verb[] = [
  ...verbsOfClone,
  migrateVerb,
  syncVerb,
  runVerb,
  drainVerb,
  enqueueVerb,
  ...jobsVerbs,
  statusVerb,
  ...schedulesVerbs,
  ...functionsVerbs,
  ...quarantineVerbs,
]
