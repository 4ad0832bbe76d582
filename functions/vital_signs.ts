import { vitalSigns } from '../shared/sweeper/vital-signs.ts'
import { watchHandler } from './runtime/watch-handler.ts'

/** Reads how the queue is. */
export const handler = watchHandler(vitalSigns)
