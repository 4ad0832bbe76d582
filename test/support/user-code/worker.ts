import { createWorkerHandler } from '../../../functions/entry/worker.ts'
import { sendMail } from './definitions.ts'

/** A worker as a user writes one. */
export const handler = createWorkerHandler({ actors: [sendMail.run(({ to }) => ({ sentTo: to }))] })
