import { randomUUID } from 'node:crypto'

/** Room of the 12 bits that number the ids of one millisecond. */
const sequenceEnd = 4096

/**
 * Makes UUIDs of version 7: they sort by the millisecond in which they were made, and within one process
 * strictly by the order in which they were made. The clock orders ids and decides nothing else; one that
 * goes backwards is not followed.
 *
 * @example
 * const newJobId = jobIds(() => performance.timeOrigin + performance.now())
 * newJobId() // '01997f3a-6c1e-7000-9b5c-3d1f0a7c2e44'
 */
export function jobIds(nowMs: () => number): () => string {
  let lastMs = 0
  let sequence = 0
  return () => {
    const ms = Math.floor(nowMs())
    if (ms > lastMs) {
      lastMs = ms
      sequence = 0
    } else if (++sequence === sequenceEnd) {
      lastMs++
      sequence = 0
    }
    const time = lastMs.toString(16).padStart(12, '0')
    const place = sequence.toString(16).padStart(3, '0')
    // The random half of a version 4 UUID, variant bits included; node keeps a pool of them.
    return `${time.slice(0, 8)}-${time.slice(8)}-7${place}-${randomUUID().slice(19)}`
  }
}
