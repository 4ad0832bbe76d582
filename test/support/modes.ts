import { existsSync } from 'node:fs'
import { startPostgres } from '../../functions/dev/postgres-server.ts'
import { startContainer } from './container.ts'
import { startNeonProxy } from './neon-proxy.ts'
import { pgbouncerProgram, startPgbouncer } from './pgbouncer.ts'

/** How a database is reached: by what is under test, and by who looks on. */
export interface Way {
  /** What connections under test are opened with, by this driver. */
  readonly url: string
  readonly driver: 'auto' | 'neon'
  /** The same database for an observer: past the pooler, past the proxy. */
  readonly directUrl: string
  /** Where Neon's driver finds its service, in place of Neon's hosts. */
  readonly neonProxy?: string
  stop(): Promise<void>
}

/**
 * A way to a database, and the folders of the integration suite that go it. A mode is a project of vitest's:
 * `npx vitest run --project pgbouncer`. All of them run the same tests, and test/support/same-tests.ts sees
 * to it; what a mode cannot run stands in its exceptions, with the reason.
 */
export interface Mode {
  readonly name: string
  readonly folders: readonly string[]
  /** What of Debian's it needs, and the file that shows that it is there. */
  readonly needs?: { readonly package: string; readonly file: string }
  /** What runs before each of its test files. */
  readonly setupFile?: string
  /** Test files that it leaves out, and why. */
  readonly exceptions?: Readonly<Record<string, string>>
  /**
   * Whether it is a server of its own, and not another way to one: then it runs the laws of plans too, which
   * are the server's matter and take a hundred thousand rows each.
   */
  readonly plans: boolean
  start(): Promise<Way>
}

/** Nothing that a test stores outlives it, so nothing needs to reach the disk. */
const fast = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '200' }
/** A measurement is of a server that keeps what it says, and that no checkpoint interrupts. */
const durable = { shared_buffers: '1GB', max_wal_size: '8GB', checkpoint_timeout: '30min' }

const debianBinaries = '/usr/lib/postgresql/15/bin'
const connecting = ['test/integration/port', 'test/integration/sweeps', 'test/integration/client']

export const modes: readonly Mode[] = [
  { name: 'integration', folders: ['test/integration'], plans: true, start: startDefault },
  {
    // The oldest server that is supported, and one without `transaction_timeout`.
    name: 'postgres-15',
    folders: ['test/integration'],
    plans: true,
    needs: { package: 'postgresql-15', file: `${debianBinaries}/postgres` },
    exceptions: {
      'test/integration/statements.test.ts': 'asks for the result types of a statement, told since 16',
    },
    start: async () => directly(await startPostgres({ settings: fast, binaries: debianBinaries })),
  },
  {
    name: 'pgbouncer',
    // And what it alone can show: the mistakes that it punishes.
    folders: [...connecting, 'test/integration/worker', 'test/integration/schedules', 'test/pooler'],
    plans: false,
    needs: { package: 'pgbouncer', file: pgbouncerProgram },
    exceptions: {
      'test/integration/port/sessions.test.ts': "counts the server's sessions, which are the pooler's own",
    },
    start: async () => {
      const server = await startPostgres({ settings: fast })
      return before(server, async () => {
        const { url, stop } = await startPgbouncer(server.url)
        return { url, driver: 'auto', stop }
      })
    },
  },
  {
    name: 'neon',
    folders: connecting,
    plans: false,
    setupFile: 'test/support/neon-setup.ts',
    exceptions: {
      'test/integration/port/sessions.test.ts': 'a lone enqueue opens no connection',
    },
    start: async () => {
      const server = await startPostgres({ settings: fast })
      return before(server, async () => {
        const { origin, stop } = await startNeonProxy()
        return { url: server.url, driver: 'neon', neonProxy: origin, stop }
      })
    },
  },
]

/** The mode of a project that has a database and is none of these: `faults`, `e2e`, `bench`. */
export function modeOf(project: string): Mode {
  const bench = async () => directly(await startPostgres({ settings: durable }))
  const other: Mode = {
    name: project,
    folders: [],
    plans: false,
    start: project === 'bench' ? bench : startDefault,
  }
  return modes.find(({ name }) => name === project) ?? other
}

export const isMissing = ({ needs }: Mode): boolean => needs !== undefined && !existsSync(needs.file)

interface Server {
  readonly url: string
  stop(): Promise<void>
}

/** What stands in front of a server, and is stopped before it. */
async function before(server: Server, start: () => Promise<Omit<Way, 'directUrl'>>): Promise<Way> {
  try {
    const way = await start()
    const stop = () => way.stop().finally(() => server.stop())
    return { ...way, directUrl: server.url, stop }
  } catch (error) {
    await server.stop()
    throw error
  }
}

function directly({ url, stop }: Server): Way {
  return { url, driver: 'auto', directUrl: url, stop }
}

/** The embedded 18, unless the environment names another server, or a container. */
async function startDefault(): Promise<Way> {
  const url = process.env['TASKQ_TEST_DATABASE_URL']
  const kind = process.env['TASKQ_TEST_DB']
  if (kind !== undefined && (kind !== 'testcontainers' || url !== undefined)) {
    throw new Error('TASKQ_TEST_DB is testcontainers or absent, and absent beside TASKQ_TEST_DATABASE_URL')
  }
  if (url !== undefined) return directly({ url, stop: () => Promise.resolve() })
  if (kind !== undefined) return directly(await startContainer(process.env['TASKQ_TEST_IMAGE'], fast))
  return directly(await startPostgres({ settings: fast }))
}
