import { join } from 'node:path'
import { build, type Format } from 'esbuild'
import { expect, test } from 'vitest'
import { type Consumer, consumerFiles } from '../../support/consumer.ts'
import { administer } from '../../support/global-postgres.ts'
import { emptyDatabase, migratedDatabase } from './databases.ts'

const exported = ['client', 'worker', 'infra', 'testing'].map(name => `taskq-serverless/${name}`)
const reportNames = (load: string) => `(async () => {
  const found = {}
  for (const name of ${JSON.stringify(exported)}) found[name] = Object.keys(await ${load}(name)).sort()
  process.stdout.write(JSON.stringify(found))
})()`

/** What an application does with the package, on one Node. */
export function runsOn(node: string, consumer: Consumer): void {
  const run = (args: readonly string[], environment?: Readonly<Record<string, string>>) =>
    JSON.parse(consumer.run(node, args, environment))

  /** Bundles the application and runs it alone in its folder: with what was bundled, and nothing else. */
  async function runBundled(format: Format, external: string[], environment: Record<string, string>) {
    const outfile = join(consumer.aside(), `application.${format === 'esm' ? 'mjs' : 'cjs'}`)
    await build({
      absWorkingDir: consumer.folder,
      entryPoints: [join(consumerFiles, 'application.ts')],
      outfile,
      bundle: true,
      minify: true,
      format,
      external,
      platform: 'node',
      target: 'node22',
    })
    return run([outfile], environment)
  }

  test('every export is imported and required, and is the same both ways', () => {
    const required = run(['--input-type=commonjs', '--eval', reportNames('require')])
    expect(run(['--input-type=module', '--eval', reportNames('import')])).toEqual(required)
    expect(required).toMatchObject({
      'taskq-serverless/client': expect.arrayContaining(['createClient', 'defineActor']),
      'taskq-serverless/worker': expect.arrayContaining(['createWorkerHandler', 'runWorker']),
      'taskq-serverless/infra': ['TaskQ'],
      'taskq-serverless/testing': ['startTestQueue'],
    })
  })

  test('the command migrates an empty database', async () => {
    const url = await emptyDatabase()
    const command = join(consumer.packageFolder, 'functions/cli/taskq.mjs')
    const { applied, version } = run([command, 'migrate', '--json', '--database-url', url])
    expect(applied).toHaveLength(version)
    const stored = await administer(url, 'select max(version) as version from taskq.schema_migrations')
    expect(stored).toEqual([{ version }])
  })

  test.each<[Format, string[]]>([
    ['esm', []],
    ['cjs', []],
    ['esm', ['@aws-sdk/*']],
    ['cjs', ['@aws-sdk/*']],
  ])('an application bundled as %s, all but %j, enqueues and works', async (format, external) => {
    const environment = { TASKQ_DATABASE_URL: await migratedDatabase(consumer) }
    expect(await runBundled(format, external, environment)).toEqual({
      created: true,
      outcome: 'idle',
      succeeded: 1,
      result: 42,
      refused: 'TEXT_INVALID',
    })
  })

  test.each<Format>(['esm', 'cjs'])('an application bundled as %s has the second driver', async format => {
    const environment = {
      TASKQ_DATABASE_URL: 'postgres://nobody:x@127.0.0.1:1/nowhere',
      TASKQ_DATABASE_DRIVER: 'neon',
    }
    const { failed } = await runBundled(format, [], environment)
    // It got as far as asking for a server.
    expect(failed).toBe('DATABASE_UNREACHABLE: the connection to the database was lost')
  })
}
