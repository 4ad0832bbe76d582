import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bundledFunctions, openBundles } from '../../infra/bundle-folders.ts'
import { type SynthesizedStack, secretArn, synthesized } from '../support/synthesis.ts'

const projectFolder = fileURLToPath(new URL('../..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'taskq-app-'))
afterAll(() => rmSync(folder, { recursive: true }))

let stack: SynthesizedStack
beforeAll(async () => {
  stack = await synthesized()
})

/** Runs the app as the CLI does, with nothing else in its environment: no account, region or credentials. */
function runApp(context: Readonly<Record<string, unknown>>) {
  return promisify(execFile)(process.execPath, ['infra/app.ts'], {
    cwd: projectFolder,
    env: { PATH: '', CDK_OUTDIR: folder, CDK_CONTEXT_JSON: JSON.stringify(context) },
  })
}

test('the app comes to the same template in another process that knows of no account or region', async () => {
  const { stderr } = await runApp({ databaseSecretArn: secretArn })
  expect(stderr).toBe('')
  expect(readFileSync(join(folder, 'TaskQ.template.json'), 'utf8')).toBe(stack.text)
})

test('without a secret the app says what is missing and what to do, in a sentence and no stack', async () => {
  const failed = await runApp({}).catch((error: unknown) => error)
  const { stderr, code } = failed as { stderr: string; code: number }
  expect(code).toBe(1)
  expect(stderr).toMatch(
    /^databaseSecretArn: is missing\. Create a secret .* cdk\.json.*\n\s+-c databaseSecretArn=arn:aws:/,
  )
  expect(stderr).not.toMatch(/^\s+at /m)
})

test('context says the properties of the construct, settings included', async () => {
  const installationId = '7f3b1c7e-0000-4000-8000-000000000000'
  const settings = { lockLease: '2m' }
  const { text } = await synthesized({ schema: 'tenant_a', environment: 'staging', installationId, settings })
  expect(text).toContain('"TASKQ_SCHEMA_NAME": "tenant_a"')
  expect(text).toContain('"TASKQ_ENVIRONMENT": "staging"')
  expect(text).toContain(`"TASKQ_INSTALLATION_ID": "${installationId}"`)
  expect(text).toContain('"TASKQ_LOCK_LEASE": "2m"')
})

test('the assembly holds the bundle of each function, and no open one, since nothing is defined', () => {
  const bundles = readdirSync(stack.folder).filter(name => existsSync(join(stack.folder, name, 'index.mjs')))
  expect(bundles).toHaveLength(bundledFunctions.length - Object.keys(openBundles).length)
})
