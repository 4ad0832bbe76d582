import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Metafile, type Plugin, transform } from 'esbuild'
import { buildBundles } from './bundles.ts'
import { carried } from './carried.ts'
import { licenceTexts } from './licence-texts.ts'

/**
 * The npm package, as `npm run build` and `npm pack` make it:
 *
 *     dist/esm        each export and the command, with what they share in chunks
 *     dist/cjs        the same files once more, as CommonJS
 *     dist/.../types  the declarations, in both: the package.json beside them says of which kind they are
 *     dist/bundles    the Lambda functions, ready for the construct
 *
 * package.json decides the rest. Each export names its source under the condition `taskq-source`. What stands
 * in `dependencies` or `peerDependencies` is imported from the user's node_modules; every other package is
 * carried inside: drivers, AWS clients and zod/mini, so that a bundler finds nothing to stumble over. AWS's
 * own CommonJS, for one, cannot be put into a module without a `require`.
 */
const projectFolder = join(import.meta.dirname, '..')
const dist = join(projectFolder, 'dist')

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly 'taskq-source': string }>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

async function buildPackage(): Promise<void> {
  const manifest = JSON.parse(readFileSync(join(projectFolder, 'package.json'), 'utf8')) as Manifest
  const sources = Object.entries(manifest.exports).map(([path, from]) => {
    return [path.slice('./'.length), from['taskq-source']] as const
  })
  rmSync(dist, { recursive: true, force: true })
  const { outputs, inputs } = await writeModules(manifest, Object.fromEntries(sources))
  await writeCommonJs(outputs, new Set(sources.map(([, source]) => source.slice('./'.length))))
  writeDeclarations(sources.map(([, source]) => source))
  const bundles = await buildBundles(join(dist, 'bundles'))
  const carriedIn = [inputs, ...bundles.map(bundle => bundle.inputs)].flatMap(each => Object.keys(each))
  writeFileSync(join(dist, 'THIRD-PARTY-LICENCES.txt'), licenceTexts(projectFolder, carriedIn))
}

async function writeModules(
  manifest: Manifest,
  exported: Readonly<Record<string, string>>,
): Promise<Metafile> {
  const { plugins, ...rest } = carried()
  const foreign = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
  const { metafile } = await build({
    ...rest,
    absWorkingDir: projectFolder,
    entryPoints: { ...exported, cli: 'functions/cli/main.ts' },
    outdir: join(dist, 'esm'),
    chunkNames: 'chunk-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node22',
    // Zod's classic API is the user's; the mini one is ours.
    external: foreign.flatMap(name => (name === 'zod' ? [] : [name, `${name}/*`])),
    plugins: [...plugins, noVerbsOfClone],
    keepNames: true,
    metafile: true,
    logLevel: 'warning',
  })
  return metafile
}

const noVerbsOfClone: Plugin = {
  name: 'no-verbs-of-clone',
  setup(bundler) {
    bundler.onLoad({ filter: /verbs-of-clone\.ts$/ }, () => ({ contents: 'export const verbsOfClone = []' }))
  },
}

/**
 * Turns the modules of the exports into CommonJS file by file, so that both kinds have the same files, and
 * two exports share one copy of what they share. An import that is late stays late, as a late `require`:
 * a test runner that knows only CommonJS cannot import.
 */
async function writeCommonJs(outputs: Metafile['outputs'], exported: ReadonlySet<string>): Promise<void> {
  const entries = Object.keys(outputs).filter(path => exported.has(outputs[path]?.entryPoint ?? ''))
  const reached = new Set(entries)
  // A set visits what is added while it is walked, so this follows the imports to their end.
  for (const path of reached) {
    for (const { path: imported, external } of outputs[path]?.imports ?? []) {
      if (external !== true) reached.add(imported)
    }
  }
  mkdirSync(join(dist, 'cjs'))
  writeFileSync(join(dist, 'cjs', 'package.json'), '{ "type": "commonjs" }\n')
  for (const path of reached) {
    const { code } = await transform(readFileSync(join(projectFolder, path), 'utf8'), {
      format: 'cjs',
      platform: 'node',
      target: 'node22',
      supported: { 'dynamic-import': false },
      define: { 'import.meta.dirname': '__dirname', 'import.meta.filename': '__filename' },
      // Whatever else is asked of `import.meta` would be missing, and only at run time.
      logOverride: { 'empty-import-meta': 'error' },
    })
    writeFileSync(join(projectFolder, path.replace('dist/esm/', 'dist/cjs/')), code)
  }
}

function writeDeclarations(sources: readonly string[]): void {
  const config = join(dist, 'tsconfig.json')
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: '..',
    outDir: 'esm/types',
  }
  const files = sources.map(source => join('..', source))
  writeFileSync(config, JSON.stringify({ extends: '../tsconfig.json', compilerOptions, include: [], files }))
  const compiler = join(projectFolder, 'node_modules', '.bin', 'tsc')
  const { status } = spawnSync(compiler, ['--project', config], { stdio: 'inherit' })
  if (status !== 0) throw new Error('the declarations could not be written')
  rmSync(config)
  cpSync(join(dist, 'esm', 'types'), join(dist, 'cjs', 'types'), { recursive: true })
}

await buildPackage()
