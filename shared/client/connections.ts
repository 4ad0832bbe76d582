import type { Connection } from '../sql/connection.ts'

/** What a set of connections needs. */
export interface ConnectionPorts {
  readonly connect: () => Promise<Connection>
  /** The wall clock, in milliseconds. It only measures how long a socket sat idle, frozen time included. */
  readonly nowMs: () => number
}

/** At most a few connections, opened when they are needed and shared by turns. */
export interface Connections {
  /** Runs some work on a connection of its own; where all are busy, after its turn has come. */
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T>
  /** Closes every connection, those in use after their work. The set opens no other. */
  close(): Promise<void>
}

/**
 * Older sockets are not trusted: a sandbox that was frozen thaws with sockets whose peer has long gone and
 * never said so, and the first statement would hang on them.
 */
const idleMsMax = 30_000

/**
 * Keeps at most `max` connections. It has no timer, since none runs in a frozen sandbox: an idle socket is
 * judged when it is wanted next. After one was lost, all that sit idle beside it are dropped as well.
 */
export function connectionSet(ports: ConnectionPorts, max: number): Connections {
  const idle: { connection: Connection; sinceMs: number }[] = []
  const waiting: (() => void)[] = []
  const working = new Set<Promise<unknown>>()
  let opened = 0
  let closed = false

  const drop = async (connection: Connection) => {
    opened--
    await connection.close()
  }

  const dropIdle = (keepFromMs: number) => {
    const stale = idle.filter(({ connection, sinceMs }) => !connection.usable || sinceMs < keepFromMs)
    for (const each of stale) {
      idle.splice(idle.indexOf(each), 1)
      void drop(each.connection)
    }
  }

  const acquire = async (): Promise<Connection> => {
    for (;;) {
      if (closed) throw new Error('the client is closed')
      dropIdle(ports.nowMs() - idleMsMax)
      const kept = idle.pop()
      if (kept !== undefined) return kept.connection
      if (opened < max) break
      await new Promise<void>(resolve => waiting.push(resolve))
    }
    opened++
    try {
      return await ports.connect()
    } catch (error) {
      opened--
      waiting.shift()?.()
      throw error
    }
  }

  const release = async (connection: Connection) => {
    if (connection.usable && !closed) idle.push({ connection, sinceMs: ports.nowMs() })
    else {
      dropIdle(connection.usable ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY)
      await drop(connection)
    }
    waiting.shift()?.()
  }

  const work = async <T>(task: (connection: Connection) => Promise<T>): Promise<T> => {
    const connection = await acquire()
    try {
      return await task(connection)
    } finally {
      await release(connection)
    }
  }

  return {
    use: async task => {
      const promise = work(task)
      const settled = promise.catch(() => undefined)
      working.add(settled)
      try {
        return await promise
      } finally {
        working.delete(settled)
      }
    },
    close: async () => {
      closed = true
      for (const wake of waiting.splice(0)) wake()
      await Promise.all(working)
      await Promise.all(idle.splice(0).map(({ connection }) => drop(connection)))
    },
  }
}
