import * as z from 'zod/mini'
import { InvalidInputError, TaskQError } from '../../shared/core/errors.ts'
import { type Settings, variableName } from '../../shared/core/read-settings.ts'
import { isDatabaseUrl } from '../../shared/core/setting-kinds.ts'
import { readSecret } from './secrets-manager.ts'

/** Where the database is: by way of its pooler, and past it. Both hold a password: print neither. */
export interface DatabaseUrls {
  readonly url: string
  /** For migrations; the same as `url` where there is no pooler to pass. */
  readonly directUrl: string
}

const ours = z.object({ url: z.string(), directUrl: z.nullish(z.string()) })

/** As RDS and its rotation write it; the port is a text there at times. */
const ofRds = z.object({
  // A name, or an address of either version: a port behind it belongs into the other member.
  host: z.string().check(z.regex(/^([\w.-]+|[\da-f.]*:[\da-f.]*:[\da-f:.]*)$/i)),
  port: z.nullish(z.union([z.number(), z.string().check(z.regex(/^\d+$/))])),
  username: z.string(),
  password: z.string(),
  dbname: z.nullish(z.string()),
  engine: z.optional(z.string().check(z.regex(/postgres/))),
})

/** A secret is read once in the life of a process; only a refused password makes it worth another look. */
const kept = new Map<string, Promise<DatabaseUrls>>()

/**
 * The database's addresses, from the environment or from the secret that it names.
 *
 * Errors: `SETTING_INVALID` where there is neither, or the secret holds something else than its three forms;
 * `DATABASE_UNREACHABLE` where the secret cannot be read. None of them repeats what a secret holds.
 */
export async function databaseUrls(settings: Settings): Promise<DatabaseUrls> {
  const { databaseUrl, databaseDirectUrl, databaseSecretArn } = settings
  if (databaseUrl !== undefined) return withDirect({ url: databaseUrl, directUrl: databaseDirectUrl })
  if (databaseSecretArn === undefined) {
    const missing = `is missing, and so is ${variableName('databaseSecretArn')}: set one of them`
    throw new InvalidInputError('SETTING_INVALID', variableName('databaseUrl'), missing)
  }
  const known = kept.get(databaseSecretArn) ?? fetchUrls(databaseSecretArn)
  kept.set(databaseSecretArn, known)
  // A failure is not worth keeping: the next invocation asks again.
  known.catch(() => kept.delete(databaseSecretArn))
  const { url, directUrl } = await known
  return { url, directUrl: databaseDirectUrl ?? directUrl }
}

/**
 * Forgets what was read, after the server refused this URL; false where no secret could say otherwise. Of
 * many callers whose old password is refused at once, the first forgets it, and all wait for what it reads.
 */
export async function forgetSecret(settings: Settings, refusedUrl: string): Promise<boolean> {
  const { databaseUrl, databaseSecretArn } = settings
  if (databaseUrl !== undefined || databaseSecretArn === undefined) return false
  const known = kept.get(databaseSecretArn)
  const urls = await known?.catch(() => undefined)
  const isRefused = urls !== undefined && [urls.url, urls.directUrl].includes(refusedUrl)
  if (isRefused && kept.get(databaseSecretArn) === known) kept.delete(databaseSecretArn)
  return true
}

async function fetchUrls(arn: string): Promise<DatabaseUrls> {
  const text = await readSecret(arn).catch((error: unknown) => {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    throw new TaskQError('DATABASE_UNREACHABLE', `the secret ${arn} cannot be read: ${reason}`, {
      cause: error,
    })
  })
  return readDatabaseSecret(text)
}

/** Reads a secret's text in any of its three forms: a URL, our JSON, or the JSON of RDS. */
export function readDatabaseSecret(text: string): DatabaseUrls {
  const trimmed = text.trim()
  if (isDatabaseUrl(trimmed)) return withDirect({ url: trimmed })
  const value = parseJson(trimmed)
  const own = ours.safeParse(value)
  if (own.success) return withDirect({ url: urlIn(own.data, 'url'), directUrl: urlIn(own.data, 'directUrl') })
  const rds = ofRds.safeParse(value)
  if (rds.success) return withDirect({ url: rdsUrl(rds.data) })
  throw refused(
    'the secret holds neither a postgres:// URL, nor {"url", "directUrl"?}, nor the JSON of RDS with host, ' +
      'username and password',
  )
}

/** A URL of our JSON; `directUrl` may be empty, which is as if it were absent. */
function urlIn(own: z.infer<typeof ours>, member: 'url' | 'directUrl'): string {
  const text = (member === 'url' ? own.url : own.directUrl || own.url).trim()
  if (isDatabaseUrl(text)) return text
  throw refused(`the member ${member} of the secret is no postgres:// URL`)
}

function refused(reason: string): InvalidInputError {
  return new InvalidInputError('SETTING_INVALID', variableName('databaseSecretArn'), reason)
}

/** The parser's own error would repeat the beginning of the text. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function rdsUrl({ host, port, username, password, dbname }: z.infer<typeof ofRds>): string {
  const [user, word, database] = [username, password, dbname ?? 'postgres'].map(encodeURIComponent)
  const address = host.includes(':') ? `[${host}]` : host
  // RDS refuses a connection without TLS; any other server decides for itself.
  const tls = isRdsHost(host) ? '?sslmode=verify-full' : ''
  return `postgres://${user}:${word}@${address}:${port ?? 5432}/${database}${tls}`
}

/** Whether a host's certificate is signed by the authorities of RDS, which Node does not know. */
export function isRdsHost(host: string): boolean {
  return /\.rds\.amazonaws\.com(\.cn)?$/.test(host)
}

function withDirect({ url, directUrl }: { url: string; directUrl?: string | undefined }): DatabaseUrls {
  return { url: saidInFull(url), directUrl: saidInFull(directUrl ?? url) }
}

/** The driver verifies under these names too, with a warning on every start that it may not for ever. */
function saidInFull(url: string): string {
  return url.replace(/([?&]sslmode=)(prefer|require|verify-ca)(?=&|$)/, '$1verify-full')
}
