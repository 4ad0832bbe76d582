import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

/**
 * What the first look-up of a zone costs, in processes that have looked up no zone yet; each goes through all
 * of them from another one on. What a collection of garbage adds to one of them is no zone's, so each zone
 * counts by its least.
 */
const processes = 5
const firstLookUpMsMax = 10

const script = (shift: number) => `
  import { recurrenceOf } from './shared/schedules/recurrence/recurrence.ts'
  new Intl.DateTimeFormat('en-US')
  const zones = Intl.supportedValuesOf('timeZone')
  const asOfMs = ${Date.parse('2026-06-01T00:00:00Z')}
  const took = zones.map((_, n) => {
    const timezone = zones[(n + Math.floor((zones.length * ${shift}) / ${processes})) % zones.length]
    const begunMs = performance.now()
    recurrenceOf({ recurrence: '30 2 * * *', timezone, startAtMs: null, endAtMs: null }).next(asOfMs)
    return [timezone, performance.now() - begunMs]
  })
  process.stdout.write(JSON.stringify(took))`

test(`the first look-up of any zone takes under ${firstLookUpMsMax} ms`, () => {
  const leastMs = new Map<string, number>()
  const firstMs: number[] = []
  for (let shift = 0; shift < processes; shift++) {
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--input-type=module-typescript', '--eval', script(shift)],
      { encoding: 'utf8', env: {} },
    )
    expect(stderr).toBe('')
    const took = JSON.parse(stdout) as [zone: string, ms: number][]
    firstMs.push(took[0]?.[1] ?? Number.NaN)
    for (const [zone, ms] of took)
      leastMs.set(zone, Math.min(ms, leastMs.get(zone) ?? Number.POSITIVE_INFINITY))
  }
  const sorted = [...leastMs.values()].sort((a, b) => a - b)
  const told = {
    zones: sorted.length,
    medianMs: sorted[sorted.length >> 1]?.toFixed(2),
    mostMs: sorted.at(-1)?.toFixed(2),
    firstOfItsProcessMs: firstMs.map(ms => ms.toFixed(1)).join(' '),
  }
  process.stdout.write(`${JSON.stringify(told)}\n`)
  expect(sorted.at(-1)).toBeLessThan(firstLookUpMsMax)
  expect(Math.min(...firstMs)).toBeLessThan(firstLookUpMsMax)
})
