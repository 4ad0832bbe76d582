import { describe, expect, test } from 'vitest'
import { migrateHandler, withNextStep } from '../../../functions/runtime/migrate-handler.ts'
import { errorCodes, TaskQError } from '../../../shared/core/errors.ts'

describe('what a deployment reports', () => {
  test.each(errorCodes)('of %s fits into its thousand characters and ends with a next step', code => {
    const { message } = withNextStep(new TaskQError(code, 'x'.repeat(5000)))
    expect([...message].length).toBeLessThanOrEqual(1000)
    expect(message).toMatch(/x…; \w.*\b(deploy again|no arguments)$/)
  })

  test('of a defect says the same, and keeps the cause', () => {
    const cause = new TypeError('a defect')
    const told = withNextStep(cause)
    expect(told).toMatchObject({ code: 'INTERNAL', cause })
    expect(told.message).toMatch(/^a defect; .* deploy again$/)
  })

  test('keeps the code and the field', () => {
    const wrong = new TaskQError('WRONG_TARGET', 'another one', { field: 'installationId' })
    expect(withNextStep(wrong)).toMatchObject({ code: 'WRONG_TARGET', field: 'installationId' })
  })
})

test('migrate refuses an event with members, by their name', async () => {
  const context = { awsRequestId: 'r', getRemainingTimeInMillis: () => 60_000 }
  await expect(migrateHandler([])({ force: true }, context)).rejects.toMatchObject({
    code: 'EVENT_INVALID',
    field: 'force',
  })
})
