import { expect, it } from 'vitest'
import { Narrowing } from '../../../shared/sweeper/narrowing.ts'

/** Drains rows of which some fail, as a run does: how many windows failed, and which rows they found. */
function search(size: number, rows: number, bad: ReadonlySet<number>) {
  const narrowing = new Narrowing(size)
  const found: number[] = []
  let failures = 0
  for (let next = 0; next < rows; ) {
    const window = Array.from({ length: Math.min(narrowing.size, rows - next) }, (_, place) => next + place)
    const fails = window.some(row => bad.has(row) && !found.includes(row))
    if (!fails) {
      narrowing.passed(window.length)
      next += window.length
    } else if (narrowing.isAlone) {
      found.push(...window)
      narrowing.found()
      failures += 1
    } else {
      narrowing.failed()
      failures += 1
    }
  }
  return { found, failures, size: narrowing.size }
}

it.each([1, 2, 3, 7, 100, 250, 10_000])('finds each bad row, in batches of %d, and nothing else', size => {
  const rows = size * 3
  for (const place of [0, 1, Math.floor(size / 2), size - 1, size, rows - 1]) {
    const { found, failures, size: after } = search(size, rows, new Set([place]))
    expect(found).toEqual([place])
    // One failure a halving and one of the row itself.
    expect(failures).toBeLessThanOrEqual(Math.ceil(Math.log2(size)) + 2)
    expect(after).toBe(size)
  }
})

it('finds many, neighbours too', () => {
  const bad = new Set([0, 1, 2, 50, 99, 100, 101, 299])
  expect(search(100, 300, bad).found).toEqual([...bad])
})

it('works in whole windows again where the row that failed has gone', () => {
  const narrowing = new Narrowing(100)
  narrowing.failed()
  expect([narrowing.size, narrowing.isNarrowed]).toEqual([50, true])
  narrowing.passed(50)
  narrowing.passed(25)
  narrowing.passed(3)
  expect([narrowing.size, narrowing.isNarrowed]).toEqual([100, false])
})
