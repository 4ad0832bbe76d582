/** The states of a job, in the order of the database's enum. */
export const jobStatuses = [
  'pending',
  'scheduled',
  'running',
  'succeeded',
  'failed',
  'cancelled',
  'crashed',
] as const

export type JobStatus = (typeof jobStatuses)[number]

/** The states that only a redrive leaves. */
export const terminalStatuses = ['succeeded', 'failed', 'cancelled', 'crashed'] as const satisfies JobStatus[]

/** One legal change of a job's state. */
export type Move = readonly [from: JobStatus, to: JobStatus]

/** Every legal move there is. A scheduled function declares the ones it makes; the laws hold it to them. */
export const legalMoves = [
  ['scheduled', 'pending'],
  ['pending', 'running'],
  ['running', 'succeeded'],
  ['running', 'failed'],
  ['running', 'scheduled'],
  ['running', 'pending'],
  ['running', 'cancelled'],
  ['running', 'crashed'],
  ['pending', 'failed'],
  ['scheduled', 'failed'],
  ['pending', 'cancelled'],
  ['scheduled', 'cancelled'],
  ['failed', 'pending'],
  ['crashed', 'pending'],
  ['cancelled', 'pending'],
] as const satisfies Move[]

/** Whether a job may go from one state to another. */
export function isLegalMove(from: JobStatus, to: JobStatus): boolean {
  return legalMoves.some(move => move[0] === from && move[1] === to)
}
