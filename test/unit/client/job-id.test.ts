import { describe, expect, it } from 'vitest'
import { jobIds } from '../../../shared/client/job-id.ts'

describe('the ids of jobs', () => {
  it('are UUIDs of version 7 that hold the millisecond', () => {
    const id = jobIds(() => 0x0199_7f3a_6c1e)()
    expect(id).toMatch(/^01997f3a-6c1e-7000-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  })

  it('ascend strictly in the order in which they were made, even when the clock stands or goes back', () => {
    const ticks = [5, 5, 9, 3, 9]
    let reads = 0
    const newJobId = jobIds(() => ticks[Math.floor(reads++ / 5000)] ?? 9)
    const ids = Array.from({ length: 25_000 }, newJobId)
    expect(ids.toSorted()).toEqual(ids)
    expect(new Set(ids).size).toBe(ids.length)
  })
})
