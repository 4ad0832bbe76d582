import { setTimeout as wait } from 'node:timers/promises'
import type { Settings } from '../../shared/core/read-settings.ts'
import type { Status } from '../../shared/core/status.ts'
import { expectedOf } from '../../shared/sweeper/scheduled.ts'
import { readStatus } from '../../shared/sweeper/status/read-status.ts'
import { routines } from '../../shared/sweeps/index.ts'
import { openConnection } from './connection.ts'

/** Whoever asks has gone away after a few seconds. */
const statementTimeoutMs = 2000
/** The client gives up this long after the server should have: then the network is gone. */
const patienceMs = 2000

/** Reads the status of a queue on a connection of its own, opened for that and closed after it. */
export function queueStatus(settings: Settings): Promise<Status> {
  const wanted = {
    settings,
    applicationName: 'taskq-status',
    queryTimeoutMs: statementTimeoutMs + patienceMs,
    sleep: async (ms: number) => void (await wait(ms)),
    random: Math.random,
  }
  return readStatus({
    settings,
    expected: expectedOf(routines, settings),
    connect: () => openConnection(wanted),
    statementTimeoutMs,
  })
}
