import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type BuildOptions, build, type Metafile, type OutputFile, type Plugin } from 'esbuild'
import { bundledFunctions, bundlesFolder } from './bundle-folders.ts'

const projectFolder = join(import.meta.dirname, '..')

/** What one function's bundle weighs. */
export interface Bundle {
  readonly name: string
  /** Bytes of the entry and of the chunks that it imports statically: what a cold start loads. */
  readonly coldBytes: number
  /** Bytes of all files, the chunks included that are loaded only when needed. */
  readonly totalBytes: number
}

/**
 * Builds `bundles/<function>/index.mjs` for each function: the one build there is, used by synthesis, by the
 * tests and by `taskq dev`. The same sources give the same bytes, wherever they lie; a file that is as it
 * should be already is left alone, so that a build does not take it from another one's readers.
 */
export async function buildBundles(folder = bundlesFolder): Promise<Bundle[]> {
  return Promise.all(
    bundledFunctions.map(async name => {
      const outdir = join(folder, name)
      const { outputFiles, metafile } = await build({
        ...optionsOf(name),
        outdir,
        write: false,
        metafile: true,
      })
      replaceFiles(outdir, outputFiles)
      return weigh(name, metafile)
    }),
  )
}

const requireBanner =
  "import { createRequire as nodeRequire } from 'node:module'; const require = nodeRequire(import.meta.url);"

function optionsOf(name: string): BuildOptions {
  return {
    absWorkingDir: projectFolder,
    entryPoints: { index: `functions/${name}.ts` },
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunk-[hash]',
    bundle: true,
    // What is imported late becomes a file of its own, so that a cold start does not read it.
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    minify: true,
    // An error's class is part of what it says.
    keepNames: true,
    legalComments: 'none',
    // The driver is CommonJS and requires Node's own modules, for which a module has no `require`.
    banner: { js: requireBanner },
    plugins: [oneConnection],
    define: { EMBEDDED_MIGRATIONS: JSON.stringify(readMigrations()) },
    logLevel: 'warning',
  }
}

/** Leaves out the driver's pool and its native twin: 16 kB that one connection never asks for. */
const oneConnection: Plugin = {
  name: 'one-connection',
  setup(bundler) {
    bundler.onResolve({ filter: /^(pg-pool|\.\/native)$/ }, ({ importer, path }) =>
      /[\\/]pg[\\/]lib[\\/]index\.js$/.test(importer) ? { path, namespace: 'left-out' } : undefined,
    )
    bundler.onLoad({ filter: /./, namespace: 'left-out' }, () => ({ contents: 'module.exports = class {}' }))
  },
}

/**
 * The migrations as `[file name, text]` pairs. Only a function that reads them carries them: where nothing
 * asks for the name, nothing is put in. The room of the database has the same reader for its own use; infra
 * must not reach the driver that stands in that room.
 */
function readMigrations(): [string, string][] {
  const folder = join(projectFolder, 'migrations')
  const names = readdirSync(folder).filter(name => name.endsWith('.sql'))
  return names.sort().map(name => [name, readFileSync(join(folder, name), 'utf8')])
}

function replaceFiles(folder: string, files: readonly OutputFile[]): void {
  mkdirSync(folder, { recursive: true })
  const wanted = new Map(files.map(file => [basename(file.path), file.contents]))
  const present = readdirSync(folder)
  for (const [name, contents] of wanted) {
    const path = join(folder, name)
    if (present.includes(name) && readFileSync(path).equals(contents)) continue
    const fresh = `${path}.${process.pid}.new`
    writeFileSync(fresh, contents)
    renameSync(fresh, path)
  }
  for (const name of present) if (!wanted.has(name)) rmSync(join(folder, name), { force: true })
}

function weigh(name: string, { outputs }: Metafile): Bundle {
  const paths = Object.keys(outputs)
  const entry = paths.find(path => outputs[path]?.entryPoint === `functions/${name}.ts`)
  if (entry === undefined) throw new Error(`the build of ${name} has no entry`)
  const cold = new Set([entry])
  // A set visits what is added while it is walked, so this follows static imports to their end.
  for (const path of cold) {
    for (const { path: imported, kind, external } of outputs[path]?.imports ?? []) {
      if (kind === 'import-statement' && external !== true) cold.add(imported)
    }
  }
  const bytes = (chosen: Iterable<string>) =>
    [...chosen].reduce((sum, path) => sum + (outputs[path]?.bytes ?? 0), 0)
  return { name, coldBytes: bytes(cold), totalBytes: bytes(paths) }
}
