import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { inject } from 'vitest'
import { driverOf } from '../../functions/runtime/driver.ts'
import type { TestDatabase } from './database.ts'
import type { HolderOrder, HolderReport } from './holder-process.ts'
import { settingsWith } from './sweeping.ts'

/** A process that holds a batch of `expired_locks`. */
export interface Holder {
  /** Returns once it is inside its batch and waits. */
  inside(): Promise<void>
  freeze(): void
  isFrozen(): boolean
  /** Thaws it and lets it go on; answers with what became of it. */
  thaw(): Promise<HolderReport>
  /** Kills it, and returns once it is dead. */
  kill(): Promise<void>
}

/** Starts a holder that reaches the database the mode's way. */
export function startHolder(
  database: TestDatabase,
  order: Pick<HolderOrder, 'settings' | 'waitsBefore'>,
): Holder {
  const child = fork(new URL('holder-process.ts', import.meta.url), { execArgv: [] })
  const driver = driverOf(settingsWith(database.settings), database.url)
  const whole: HolderOrder = { url: database.url, driver, neonProxy: inject('way').neonProxy, ...order }
  child.send(whole)
  return {
    inside: async () => {
      const [message] = await once(child, 'message')
      if (message !== 'inside') throw new Error(`it went through: ${JSON.stringify(message)}`)
    },
    freeze: () => void child.kill('SIGSTOP'),
    isFrozen: () => /^T/.test(stateOf(child.pid ?? 0)),
    thaw: async () => {
      const reported = once(child, 'message')
      child.kill('SIGCONT')
      child.send('go on')
      return (await reported)[0] as HolderReport
    },
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

/** One letter for what a process does, as `ps` has it; a small Linux has no `ps`. */
function stateOf(pid: number): string {
  if (process.platform !== 'linux') return execFileSync('ps', ['-o', 'state=', '-p', String(pid)]).toString()
  return readFileSync(`/proc/${pid}/status`, 'utf8').replace(/^.*^State:\s*/ms, '')
}
