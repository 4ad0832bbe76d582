import { describe, expect, test } from 'vitest'
import { readWatchEvent } from '../../../functions/runtime/event.ts'

const byHand = { trigger: 'manual', requestedBy: 'ada', reason: 'a look after the outage' }

describe('the watcher’s event', () => {
  test.each([
    ['of a rule', { source: 'aws.events', 'detail-type': 'Scheduled Event' }, { trigger: 'schedule' }],
    ['of a deployment', { trigger: 'smoke' }, { trigger: 'smoke' }],
    ['by hand', byHand, byHand],
    ['by hand, only to see', { ...byHand, dryRun: true }, { ...byHand, dryRun: true }],
  ])('%s is accepted', (_, event, expected) => {
    expect(readWatchEvent(event)).toEqual(expected)
  })

  test.each(['maxBatches', 'batchSize', 'maxSeconds', 'resetBreaker'])(
    'with %s is refused by that name: it has neither batches nor a breaker',
    field => {
      const value = field === 'resetBreaker' ? true : 1
      expect(() => readWatchEvent({ ...byHand, [field]: value })).toThrow(
        expect.objectContaining({ code: 'EVENT_INVALID', field }),
      )
    },
  )

  test('says who asks and why, as every other', () => {
    expect(() => readWatchEvent({ trigger: 'manual', requestedBy: 'ada' })).toThrow(/^reason: is missing/)
  })
})
