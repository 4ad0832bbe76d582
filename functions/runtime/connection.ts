import { TaskQError } from '../../shared/core/errors.ts'
import type { Settings } from '../../shared/core/read-settings.ts'
import type { ScriptConnection } from '../../shared/db/driver-connection.ts'
import type { Runner } from '../../shared/sql/connection.ts'
import { codeOf } from '../../shared/sql/failures.ts'
import { connectBy, driverOf } from './driver.ts'
import { databaseUrls, forgetSecret, isRdsHost } from './secret.ts'

/** Which connection is wanted, and the two ports that a retry needs. */
export interface Wanted {
  readonly settings: Settings
  /** Shown in pg_stat_activity. */
  readonly applicationName: string
  /** Migrations go past the pooler. */
  readonly isDirect?: boolean
  /** The client gives a statement up after this long: above every timeout of the server's. */
  readonly queryTimeoutMs: number
  readonly sleep: (ms: number) => Promise<void>
  readonly random: () => number
}

/** A rule starts all functions in the same second; so long, at most, each waits before it connects. */
const spreadMs = 500

/**
 * Opens connections for one invocation. One that a rule started waits a random moment before its first, so
 * that not all functions knock at the database at once; a person who asks is not kept waiting.
 */
export function connectorOf(wanted: Wanted, { isSpread }: { readonly isSpread: boolean }) {
  let waits = isSpread
  return async (): Promise<ScriptConnection> => {
    if (waits) await wanted.sleep(wanted.random() * spreadMs)
    waits = false
    return openConnection(wanted)
  }
}

/** How long the one retry waits, at least and at most: a database that scales to zero takes a moment. */
const retryMs = { least: 100, spread: 400 }

/**
 * Opens one connection, with one retry: after a moment, or at once with the secret read anew where the server
 * refused the password, since it may have been rotated. What cannot be had is `DATABASE_UNREACHABLE`.
 */
export async function openConnection(wanted: Wanted): Promise<ScriptConnection> {
  const url = await address(wanted)
  try {
    return await open(wanted, url)
  } catch (error) {
    if (!isRefusedPassword(error)) await wanted.sleep(retryMs.least + wanted.random() * retryMs.spread)
    else if (!(await forgetSecret(wanted.settings, url))) throw unreachable(url, error)
  }
  const urlAnew = await address(wanted)
  try {
    return await open(wanted, urlAnew)
  } catch (error) {
    throw unreachable(urlAnew, error)
  }
}

const isRefusedPassword = (error: unknown) => ['28P01', '28000'].includes(codeOf(error) ?? '')

async function open(
  { settings, applicationName, queryTimeoutMs }: Wanted,
  url: string,
): Promise<ScriptConnection> {
  await trustRds(url)
  const { schemaName: schema, connectTimeout: connectTimeoutMs } = settings
  const connect = await connectBy(driverOf(settings, url))
  return connect({ url, schema, applicationName, connectTimeoutMs, queryTimeoutMs })
}

/**
 * What runs lone statements by a request each, or undefined where the driver takes only connections. As when
 * connecting, a refused password makes the secret be read anew, once.
 */
export async function openRequests(wanted: Wanted): Promise<Runner | undefined> {
  const { settings, queryTimeoutMs } = wanted
  if (driverOf(settings, await address(wanted)) === 'pg') return undefined
  const { requestNeon } = await import('../../shared/db/neon.ts')
  const requestTo = (url: string) => requestNeon({ url, schema: settings.schemaName, queryTimeoutMs })
  return {
    run: async (statement, args) => {
      const url = await address(wanted)
      try {
        return await requestTo(url).run(statement, args)
      } catch (error) {
        if (!isRefusedPassword(error) || !(await forgetSecret(settings, url))) throw error
        return requestTo(await address(wanted)).run(statement, args)
      }
    },
  }
}

async function address({ settings, isDirect = false }: Wanted): Promise<string> {
  const { url, directUrl } = await databaseUrls(settings)
  return isDirect ? directUrl : url
}

function unreachable(url: string, error: unknown): TaskQError {
  const said = error instanceof Error && error.message !== '' ? error.message : 'no answer'
  const reason = [said, codeOf(error)].filter(part => part !== undefined).join(', ')
  return new TaskQError('DATABASE_UNREACHABLE', `no connection to ${whereabouts(url)}: ${reason}`, {
    cause: error,
  })
}

/**
 * Host and database of a URL, and nothing of who connects to it. An `@` behind the host is the end of a
 * password in which a `/` was not escaped.
 */
function whereabouts(url: string): string {
  const parsed = URL.parse(url)
  const isPlain = parsed !== null && !/@/.test(parsed.pathname + parsed.search + parsed.hash)
  return isPlain ? `${parsed.host}${parsed.pathname}` : 'the database, whose URL cannot be parsed'
}

/** Lambda brings the authorities that sign RDS' certificates; since Node 20 it leaves their loading to us. */
const rdsAuthorities = '/var/runtime/ca-cert.pem'
let isRdsTrusted = false

async function trustRds(url: string): Promise<void> {
  if (isRdsTrusted || !isRdsHost(URL.parse(url)?.hostname ?? '')) return
  // Late, because both together are half of what a cold start may take, and most databases need neither.
  const [{ existsSync, readFileSync }, tls] = await Promise.all([import('node:fs'), import('node:tls')])
  if (!existsSync(rdsAuthorities)) return
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), readFileSync(rdsAuthorities, 'utf8')])
  isRdsTrusted = true
}
