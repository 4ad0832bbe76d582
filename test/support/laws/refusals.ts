import { describe, expect } from 'vitest'
import type { TestDatabase } from '../database.ts'
import { sweepOnce } from '../sweeping.ts'
import { insertDue, law, type Subject, snapshot, tens } from './subject.ts'

/** When a function writes nothing at all, and what it never leaves behind. */
export function refusalLaws(subject: Subject): void {
  const { sweep } = subject
  const everything = async (database: TestDatabase) => [
    await snapshot(database, subject),
    await database.rows(`select s::text, xmin::text from taskq.sweep_state s order by function`),
  ]

  describe('refusals', () => {
    law(
      'throws at the wrong target and writes nothing: no lock, no setting, no row (C29)',
      async database => {
        await insertDue(database, subject, 5)
        const before = await everything(database)
        const settings = { installationId: '00000000-0000-4000-8000-000000000000' }
        for (const request of [{}, { dryRun: true }, { trigger: 'smoke' as const }]) {
          await expect(sweepOnce(database, sweep, { settings, request })).rejects.toMatchObject({
            code: 'WRONG_TARGET',
          })
        }
        expect(await everything(database)).toEqual(before)
      },
    )

    law('switched off, it writes nothing', async database => {
      await insertDue(database, subject, 5)
      await database.rows(
        `update taskq.sweep_state set disabled_at = now() where function = '${sweep.purpose}'`,
      )
      const before = await everything(database)
      const nothing = { outcome: 'disabled', rows: 0, remaining: null }
      expect(await sweepOnce(database, sweep)).toMatchObject(nothing)
      expect(await everything(database)).toEqual(before)
    })

    if (sweep.offAtZero !== null) {
      const settings = { [sweep.offAtZero]: 0 }
      law('switched off by its setting, it writes nothing and counts nothing', async database => {
        await insertDue(database, subject, 5)
        const before = await everything(database)
        expect(await sweepOnce(database, sweep, { settings })).toMatchObject({ outcome: 'disabled', rows: 0 })
        const request = { dryRun: true }
        expect(await sweepOnce(database, sweep, { settings, request })).toMatchObject({ eligible: 0 })
        expect(await everything(database)).toEqual(before)
      })
    }

    law('a dry run counts what is due and writes nothing at all', async database => {
      await insertDue(database, subject, 12)
      const before = await everything(database)
      expect(await sweepOnce(database, sweep, { request: { dryRun: true } })).toMatchObject({ eligible: 12 })
      expect(await everything(database)).toEqual(before)
    })

    law('leaves no setting, no role and no lock behind on its connection (B004)', async database => {
      await insertDue(database, subject, 15)
      const connection = await database.connect()
      // The settings of plpgsql show once its library is loaded.
      const session = () =>
        connection.script(`select name, setting, current_user as role from pg_settings
          where name not like 'plpgsql.%' order by name`)
      const before = await session()
      const kept = new Proxy(connection, {
        get: (target, name) => {
          if (name === 'close') return () => Promise.resolve()
          const value = Reflect.get(target, name, target)
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
      await sweepOnce(database, sweep, { ...tens(subject), ports: { connect: () => Promise.resolve(kept) } })
      expect(await session()).toEqual(before)
      const locks = `select objid from pg_locks where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())`
      expect(await database.rows(locks)).toEqual([])
    })
  })
}
