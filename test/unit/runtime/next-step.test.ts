import { describe, expect, test } from 'vitest'
import { migrateHandler, migrateSteps } from '../../../functions/runtime/migrate-handler.ts'
import { withNextStep } from '../../../functions/runtime/next-step.ts'
import { syncHandler, syncSteps } from '../../../functions/runtime/sync-handler.ts'
import { errorCodes, TaskQError } from '../../../shared/core/errors.ts'
import { migrationFailure } from '../../../shared/db/migration-failure.ts'
import { migrationFile } from '../../../shared/db/migration-files.ts'

const steps = [
  { name: 'migrate', nextSteps: migrateSteps },
  { name: 'sync', nextSteps: syncSteps },
]
const context = { awsRequestId: 'r', getRemainingTimeInMillis: () => 60_000 }

describe.each(steps)('what a deployment reports of $name', step => {
  test.each(errorCodes)('for %s fits into its thousand characters and ends with a next step', code => {
    const { message } = withNextStep(new TaskQError(code, 'x'.repeat(5000)), step)
    expect([...message].length).toBeLessThanOrEqual(1000)
    expect(message).toMatch(/x…; \w.*\b(deploy again|no arguments)$/)
  })

  test('for a defect says the same, and keeps the cause', () => {
    const cause = new TypeError('a defect')
    const told = withNextStep(cause, step)
    expect(told).toMatchObject({ code: 'INTERNAL', cause })
    expect(told.message).toMatch(new RegExp(`^a defect; .* ${step.name} function, .* deploy again$`))
  })

  test('keeps the code and the field', () => {
    const wrong = new TaskQError('WRONG_TARGET', 'another one', { field: 'installationId' })
    expect(withNextStep(wrong, step)).toMatchObject({ code: 'WRONG_TARGET', field: 'installationId' })
  })
})

test('a failed migration keeps its state and next step, however long the server speaks', () => {
  for (const header of ['', '-- taskq: non-transactional\n']) {
    const file = migrationFile(`0042_${'long_'.repeat(20)}name.sql`, `${header}select 1`)
    const failure = migrationFailure(file, new Error('x'.repeat(5000)))
    expect(withNextStep(failure, { name: 'migrate', nextSteps: migrateSteps }).message).toMatch(
      /^0042_.*x…; .*(rolled back|the next run).*: mend the cause and migrate again; then deploy again$/,
    )
  }
})

describe.each([
  ['migrate', migrateHandler([])],
  ['sync', syncHandler({ actors: [] })],
] as const)('%s', (_, handler) => {
  test('refuses an event with members, by their name', async () => {
    await expect(handler({ force: true }, context)).rejects.toMatchObject({
      code: 'EVENT_INVALID',
      field: 'force',
    })
  })
})

test('sync refuses what its definitions module lacks, before it connects', async () => {
  const refusal = syncHandler({ default: [] })({}, context)
  await expect(refusal).rejects.toMatchObject({ code: 'OPTION_INVALID', field: 'actors' })
  await expect(refusal).rejects.toThrow(/; correct the definitions and deploy again$/)
})
