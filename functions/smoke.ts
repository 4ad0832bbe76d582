import { smokeHandler } from './runtime/smoke-handler.ts'

/** Asks each scheduled function whether it can work, at the end of a deployment. */
export const handler = smokeHandler()
