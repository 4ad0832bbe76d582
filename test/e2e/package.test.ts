import { afterAll, describe, test } from 'vitest'
import { installConsumer } from '../support/consumer.ts'
import { fitsIn, holdsContents } from './package/contents.ts'
import { runsExamples } from './package/examples.ts'
import { runsOn } from './package/running.ts'
import { synthesizes } from './package/synthesis.ts'

// Installing takes half a minute, so all that is asked of the package is asked of one installation.
const consumer = installConsumer()

if (typeof consumer === 'string') {
  // A skipped test would fail the run. What is left out says so by its name, and among what the run prints.
  process.stderr.write(`${consumer}\n`)
  test(consumer, () => undefined)
} else {
  afterAll(() => consumer.remove())
  describe('the package', () => {
    holdsContents(consumer)
    fitsIn(consumer)
  })
  describe.each(Object.entries(consumer.nodes))('on Node %s', (_, node) => runsOn(node, consumer))
  describe('the construct', () => synthesizes(consumer))
  describe('the examples', () => runsExamples(consumer))
}
