import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import type { Consumer } from '../../support/consumer.ts'
import { consumerFiles } from '../../support/consumer.ts'
import { secretArn } from '../../support/synthesis.ts'
import { emptyDatabase, migratedDatabase } from './databases.ts'

interface Resource {
  readonly Type: string
  readonly Properties: { readonly Code: { readonly S3Key: string } }
}

/** The module of a function that `cdk synth` has bundled, by how its resource's name begins. */
function bundleOf(outdir: string, stack: string, name: string): string {
  const template = JSON.parse(readFileSync(join(outdir, `${stack}.template.json`), 'utf8'))
  const [, resource] =
    Object.entries(template.Resources as Record<string, Resource>).find(
      ([id, { Type }]) => Type === 'AWS::Lambda::Function' && id.startsWith(name),
    ) ?? []
  const folder = `asset.${resource?.Properties.Code.S3Key.replace('.zip', '')}`
  const manifest = readFileSync(join(outdir, `${stack}.assets.json`), 'utf8')
  expect(manifest).toContain(folder)
  return join(outdir, folder)
}

/** That the examples do in a project what they say. */
export function runsExamples(consumer: Consumer): void {
  const nodes = Object.entries(consumer.nodes)

  test('are right in their types', async () => {
    const flags = ['--noEmit', '--strict', '--skipLibCheck', '--allowImportingTsExtensions']
    const modules = ['--target', 'es2024', '--module', 'nodenext', '--types', 'node']
    const sources = [
      join(consumerFiles, 'transactions.ts'),
      'examples/shop/app.ts',
      'examples/shop/worker.ts',
    ]
    const more = ['examples/shop/checkout.ts', 'examples/shop/receipts.test.ts']
    const tsc = join('node_modules', 'typescript', 'bin', 'tsc')
    await consumer.run(process.execPath, [tsc, ...flags, ...modules, ...sources, ...more])
  })

  test.each(nodes)(
    'store an order and its job, or neither, by pg, Drizzle and Kysely, on %s',
    async (_, node) => {
      const url = await migratedDatabase(consumer)
      const script = join(consumerFiles, 'transactions.ts')
      const report = await consumer.run(node, [script, url], { TASKQ_DATABASE_URL: url })
      const stored = (orders: number) => ({ orders, jobs: orders })
      expect(JSON.parse(report)).toEqual({
        pg: { once: stored(1), again: '23505', twice: stored(1) },
        drizzle: { once: stored(2), again: '23505', twice: stored(2) },
        kysely: { once: stored(3), again: '23505', twice: stored(3) },
      })
    },
  )

  test.each(nodes)('test a receipt without a Lambda, on %s', async (_, node) => {
    const environment = { TASKQ_TEST_DATABASE_URL: await emptyDatabase() }
    const said = await consumer.run(node, ['--test', 'examples/shop/receipts.test.ts'], environment)
    expect(said).toMatch(/pass 1\n/)
    expect(said).toMatch(/fail 0\n/)
  })

  test('deploy a checkout that enqueues from its own stack, and two workers', async () => {
    consumer.lendEsbuild()
    const outdir = consumer.aside()
    const context = { databaseSecretArn: secretArn }
    const environment = { CDK_OUTDIR: outdir, CDK_CONTEXT_JSON: JSON.stringify(context) }
    await consumer.run(process.execPath, [join('examples', 'shop', 'app.ts')], environment)

    const database = { TASKQ_DATABASE_URL: await migratedDatabase(consumer) }
    const invoke = async (file: string, event: object) => {
      const script = `const { handler } = await import(${JSON.stringify(pathToFileURL(file).href)})
        const context = { getRemainingTimeInMillis: () => 60_000 }
        process.stdout.write(JSON.stringify(await handler(${JSON.stringify(event)}, context)))
        process.exit()`
      return JSON.parse(
        await consumer.run(process.execPath, ['--input-type=module', '--eval', script], database),
      )
    }
    const checkout = join(bundleOf(outdir, 'Shop', 'Checkout'), 'index.js')
    const worker = join(bundleOf(outdir, 'Queue', 'TaskQReceipts'), 'index.mjs')
    const attached = join(bundleOf(outdir, 'Mailroom', 'Worker'), 'index.js')
    const orderId = crypto.randomUUID()
    expect(await invoke(checkout, { orderId })).toMatchObject({ created: true })
    expect(await invoke(checkout, { orderId })).toMatchObject({ created: false })
    expect(await invoke(worker, {})).toMatchObject({ outcome: 'idle', succeeded: 1 })
    expect(await invoke(checkout, { orderId: crypto.randomUUID() })).toMatchObject({ created: true })
    expect(await invoke(attached, {})).toMatchObject({ outcome: 'idle', succeeded: 1 })
  })
}
