import { routines } from '../shared/sweeps/index.ts'
import { migrateHandler } from './runtime/migrate-handler.ts'

/** Brings the database's schema to the version of this deployment. */
export const handler = migrateHandler(routines.map(sweep => sweep.purpose))
