import { describe, expect, test } from 'vitest'
import { readEvent } from '../../../functions/runtime/event.ts'
import { isTaskQError } from '../../../shared/core/errors.ts'
import { promotion } from '../../../shared/sweeps/index.ts'

const byRule = {
  version: '0',
  id: '4f1c1d5e-0000-4000-8000-000000000000',
  'detail-type': 'Scheduled Event',
  source: 'aws.events',
  account: '111122223333',
  time: '2026-03-01T03:00:00Z',
  region: 'eu-central-1',
  resources: ['arn:aws:events:eu-central-1:111122223333:rule/taskq'],
  detail: {},
}
const byHand = { trigger: 'manual', requestedBy: 'ada', reason: 'a backlog after the outage' }

describe('an event is accepted', () => {
  test.each([
    ['of a rule', byRule, { trigger: 'schedule' }],
    ['of a rule whose envelope has grown', { ...byRule, 'replay-name': 'a' }, { trigger: 'schedule' }],
    ['of a deployment', { trigger: 'smoke' }, { trigger: 'smoke' }],
    ['by hand', byHand, byHand],
    [
      'by hand, bounded',
      { ...byHand, maxBatches: 1, batchSize: 10_000, maxSeconds: 900, dryRun: true },
      'itself',
    ],
    ['by hand, with a reset', { ...byHand, resetBreaker: true }, 'itself'],
    ['by hand, without one', { ...byHand, resetBreaker: false, dryRun: false }, 'itself'],
    ['by hand, in any language', { ...byHand, requestedBy: 'Ada Łovelace', reason: '残り' }, 'itself'],
  ])('%s', (_, event, expected) => {
    expect(readEvent(promotion, event)).toEqual(expected === 'itself' ? event : expected)
  })
})

describe('an event is refused by the name of what is wrong in it', () => {
  test.each([
    ['nothing', undefined, 'event'],
    ['null', null, 'event'],
    ['a text', 'smoke', 'event'],
    ['a list', [byHand], 'event'],
    ['an empty object', {}, 'trigger'],
    ['another trigger', { trigger: 'cron' }, 'trigger'],
    ['a trigger that is no text', { trigger: 1 }, 'trigger'],
    ["another service's event", { ...byRule, source: 'aws.s3' }, 'source'],
    ['another event of EventBridge', { ...byRule, 'detail-type': 'Object Created' }, 'detail-type'],
    ['a rule that pretends to be a person', { ...byRule, ...byHand }, 'version'],
    ['a smoke event that asks for more', { trigger: 'smoke', batchSize: 1 }, 'batchSize'],
    ['nobody', { trigger: 'manual', reason: 'x' }, 'requestedBy'],
    ['an empty name', { ...byHand, requestedBy: '' }, 'requestedBy'],
    ['a name with a NUL', { ...byHand, requestedBy: 'a\0' }, 'requestedBy'],
    ['a name of two lines', { ...byHand, requestedBy: 'a\nb' }, 'requestedBy'],
    ['a long name', { ...byHand, requestedBy: 'a'.repeat(256) }, 'requestedBy'],
    ['no reason', { trigger: 'manual', requestedBy: 'ada' }, 'reason'],
    ['a long reason', { ...byHand, reason: 'a'.repeat(1001) }, 'reason'],
    ['no batches', { ...byHand, maxBatches: 0 }, 'maxBatches'],
    ['too many batches', { ...byHand, maxBatches: 10_001 }, 'maxBatches'],
    ['half a batch', { ...byHand, maxBatches: 0.5 }, 'maxBatches'],
    ['a number as text', { ...byHand, maxBatches: '5' }, 'maxBatches'],
    ['a silent stall', { ...byHand, batchSize: 0 }, 'batchSize'],
    ['too large a batch', { ...byHand, batchSize: 10_001 }, 'batchSize'],
    ['a negative batch', { ...byHand, batchSize: -1 }, 'batchSize'],
    ['more time than there is', { ...byHand, maxSeconds: 901 }, 'maxSeconds'],
    ['no time', { ...byHand, maxSeconds: 0 }, 'maxSeconds'],
    ['perhaps a dry run', { ...byHand, dryRun: 'yes' }, 'dryRun'],
    ['a misspelt member', { ...byHand, batchsize: 1 }, 'batchsize'],
    ['perhaps a reset', { ...byHand, resetBreaker: 1 }, 'resetBreaker'],
    ['a smoke event that resets', { trigger: 'smoke', resetBreaker: true }, 'resetBreaker'],
    ['a principal of its own', { ...byHand, principal: 'bob' }, 'principal'],
  ])('%s', (_, event, field) => {
    const refused = errorOf(() => readEvent(promotion, event))
    expect(isTaskQError(refused) && { code: refused.code, field: refused.field }).toEqual({
      code: 'EVENT_INVALID',
      field,
    })
    expect(refused).toHaveProperty('message', expect.stringMatching(new RegExp(`^${field}: \\S+ \\S+`)))
  })
})

function errorOf(call: () => unknown): unknown {
  try {
    return call()
  } catch (error) {
    return error
  }
}
