import { describe, expect, it } from 'vitest'
import { dailyDeliverable, dailyIntent, useSchedules } from '../../support/schedule-verbs.ts'

const { database, schedules, decisions } = useSchedules()

describe('options that are no object', () => {
  const verbs = ['pause', 'resume', 'retire', 'runNow', 'backfill', 'simulate'] as const
  const wrong = [null, 'tomorrow', [], 1]

  it.each(verbs)('%s: OPTION_INVALID, with nothing written', async verb => {
    const taskq = await schedules()
    await taskq.create(dailyDeliverable)
    for (const options of wrong) {
      const refused = taskq[verb]('daily', options as never)
      await expect(refused).rejects.toMatchObject({ code: 'OPTION_INVALID', field: 'options' })
    }
    expect(await decisions()).toHaveLength(1)
  })

  it('list, create and edit: the same', async () => {
    const taskq = await schedules()
    for (const options of wrong) {
      for (const refused of [
        taskq.list(options as never),
        taskq.create(dailyIntent, options as never),
        taskq.edit('daily', { cron: '@hourly' }, options as never),
      ]) {
        await expect(refused).rejects.toMatchObject({ code: 'OPTION_INVALID', field: 'options' })
      }
      for (const refused of [taskq.create(options as never), taskq.edit('daily', options as never)]) {
        await expect(refused).rejects.toMatchObject({ code: 'OPTION_INVALID', field: 'schedule' })
      }
    }
    expect(await database().rows('select from taskq.schedules')).toEqual([])
  })

  it('and a reason that is no text', async () => {
    const taskq = await schedules()
    await taskq.create(dailyIntent)
    const refused = taskq.pause('daily', { reason: 5 as never })
    await expect(refused).rejects.toMatchObject({ code: 'OPTION_INVALID', field: 'reason' })
  })
})

describe('options that are left out', () => {
  it.each([
    ['simulate', 'until'],
    ['backfill', 'from'],
  ] as const)('%s: OPTION_INVALID at %s', async (verb, field) => {
    const taskq = await schedules()
    await taskq.create(dailyDeliverable)
    const ask = taskq[verb] as (name: string) => Promise<unknown>
    await expect(ask('daily')).rejects.toMatchObject({ code: 'OPTION_INVALID', field })
  })
})

describe('what cannot be checked where nobody has definitions', () => {
  const factory = /; factory "made" could not be checked here, and fails where cron does not know it$/
  const payload = /; its payload could not be checked here: the schema of "post" is the worker's$/
  const { payload: _, ...unpaid } = dailyIntent

  it('is told: a factory, and the payload of a bare name', async () => {
    const taskq = await schedules()
    expect((await taskq.create(dailyIntent)).note).not.toContain('checked')
    expect((await taskq.create({ ...unpaid, name: 'made', payloadFactory: 'made' })).note).toMatch(factory)
    expect((await taskq.create({ ...dailyIntent, name: 'bare', actor: 'post' })).note).toMatch(payload)
    expect((await decisions('bare')).at(-1)?.note).toMatch(payload)
    expect((await taskq.edit('daily', { payload: { n: 2 } })).note).toMatch(payload)
    expect((await taskq.edit('daily', { payloadFactory: 'made' })).note).toMatch(factory)
    expect((await taskq.edit('daily', { cron: '@hourly' })).note).not.toContain('checked')
  })
})
