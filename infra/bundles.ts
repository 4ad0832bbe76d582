import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type BuildOptions, build, type Metafile, type OutputFile, type Plugin } from 'esbuild'
import { bundledFunctions, bundlesFolder, openBundles } from './bundle-folders.ts'
import { carried } from './carried.ts'

const projectFolder = join(import.meta.dirname, '..')
/** The name that the user's module has in our functions. */
const definitions = 'taskq-definitions'

/** Puts a module that exports nothing behind that name, for whoever defines nothing. */
const noDefinitions: Plugin = {
  name: 'no-definitions',
  setup(bundler) {
    bundler.onResolve({ filter: /^taskq-definitions$/ }, ({ path }) => ({
      path,
      namespace: 'no-definitions',
    }))
    bundler.onLoad({ filter: /./, namespace: 'no-definitions' }, () => ({ contents: 'export {}' }))
  },
}

/** What one function's bundle weighs. */
export interface Bundle {
  readonly name: string
  /** Bytes of the entry and of the chunks that it imports statically: what a cold start loads. */
  readonly coldBytes: number
  /** Bytes of all files, the chunks included that are loaded only when needed. */
  readonly totalBytes: number
  /** What it was made of, by path from the project's folder. */
  readonly inputs: Metafile['inputs']
}

/**
 * Builds `bundles/<function>/index.mjs` for each function: the one build of functions, used by synthesis, by
 * the tests, by `taskq dev` and by the package. The same sources give the same bytes, wherever they lie; a
 * file that is as it should be already is left alone, so that a build does not take it from another one's
 * readers.
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

const isOpen = (name: string) => Object.values(openBundles).includes(name)

function entryOf(name: string): string {
  const [opened = name] = Object.entries(openBundles).find(([, bundle]) => bundle === name) ?? []
  return `functions/${opened}.ts`
}

function optionsOf(name: string): BuildOptions {
  const { plugins, ...rest } = carried()
  return {
    absWorkingDir: projectFolder,
    entryPoints: { index: entryOf(name) },
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunk-[hash]',
    bundle: true,
    // What is imported late becomes a file of its own, so that a cold start does not read it. What is bundled
    // once more, with the user's module, is one file here.
    splitting: !isOpen(name),
    format: 'esm',
    platform: 'node',
    target: 'node24',
    minify: true,
    // An error's class is part of what it says.
    keepNames: true,
    legalComments: 'none',
    ...rest,
    ...(isOpen(name) ? { plugins, external: [definitions] } : { plugins: [...plugins, noDefinitions] }),
    logLevel: 'warning',
  }
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

function weigh(name: string, { inputs, outputs }: Metafile): Bundle {
  const paths = Object.keys(outputs)
  const entry = paths.find(path => outputs[path]?.entryPoint === entryOf(name))
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
  return { name, coldBytes: bytes(cold), totalBytes: bytes(paths), inputs }
}
