import { join } from 'node:path'
import { build, type Format } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { serveSecrets } from '../../../functions/dev/secrets-endpoint.ts'
import { type Consumer, consumerFiles } from '../../support/consumer.ts'
import { administer } from '../../support/global-postgres.ts'
import { secretArn } from '../../support/synthesis.ts'
import { emptyDatabase, migratedDatabase } from './databases.ts'

const exported = ['client', 'worker', 'infra', 'testing'].map(name => `taskq-serverless/${name}`)
const reportNames = (load: string) => `(async () => {
  const found = {}
  for (const name of ${JSON.stringify(exported)}) found[name] = Object.keys(await ${load}(name)).sort()
  process.stdout.write(JSON.stringify(found))
})()`

/** What the application prints where all is well. */
const wellDone = { created: true, outcome: 'idle', succeeded: 1, result: 42, refused: 'TEXT_INVALID' }

/** What an application does with the package, on one Node. */
export function runsOn(node: string, consumer: Consumer): void {
  const run = async (args: readonly string[], environment?: Readonly<Record<string, string>>) =>
    JSON.parse(await consumer.run(node, args, environment))

  /** Bundles the application and runs it alone in its folder: with what was bundled, and nothing else. */
  async function runBundled(format: Format, environment: Record<string, string>) {
    const outfile = join(consumer.aside(), `application.${format === 'esm' ? 'mjs' : 'cjs'}`)
    await build({
      absWorkingDir: consumer.folder,
      entryPoints: [join(consumerFiles, 'application.ts')],
      outfile,
      bundle: true,
      minify: true,
      format,
      platform: 'node',
      target: 'node22',
    })
    return run([outfile], environment)
  }

  test('every export is imported and required, and is the same both ways', async () => {
    const required = await run(['--input-type=commonjs', '--eval', reportNames('require')])
    expect(await run(['--input-type=module', '--eval', reportNames('import')])).toEqual(required)
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
    const { applied, version } = await run([command, 'migrate', '--json', '--database-url', url])
    expect(applied).toHaveLength(version)
    const stored = await administer(url, 'select max(version) as version from taskq.schema_migrations')
    expect(stored).toEqual([{ version }])
  })

  describe.each<Format>(['esm', 'cjs'])('an application bundled as %s', format => {
    test('enqueues and works', async () => {
      const environment = { TASKQ_DATABASE_URL: await migratedDatabase(consumer) }
      expect(await runBundled(format, environment)).toEqual(wellDone)
    })

    test('reads its secret', async () => {
      const secrets = await serveSecrets({ [secretArn]: await migratedDatabase(consumer) })
      try {
        const environment = {
          TASKQ_DATABASE_SECRET_ARN: secretArn,
          AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
          AWS_REGION: 'eu-central-1',
          AWS_ACCESS_KEY_ID: 'nobody',
          AWS_SECRET_ACCESS_KEY: 'nothing',
        }
        expect(await runBundled(format, environment)).toEqual(wellDone)
      } finally {
        await secrets.close()
      }
    })

    test('has the second driver', async () => {
      const environment = {
        TASKQ_DATABASE_URL: 'postgres://nobody:x@127.0.0.1:1/nowhere',
        TASKQ_DATABASE_DRIVER: 'neon',
      }
      // It got as far as asking for a server.
      const failed = 'DATABASE_UNREACHABLE: the connection to the database was lost'
      expect(await runBundled(format, environment)).toEqual({ failed })
    })
  })
}
