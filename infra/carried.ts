import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import type { Plugin } from 'esbuild'

/**
 * How what we carry inside is fitted in, in the functions' bundles as in the package: the driver, which is
 * CommonJS, and the migrations, which nobody should have to look for on a disk.
 */
export function carried() {
  return {
    mainFields: ['module', 'main'],
    plugins: [nodeBuiltins, oneConnection],
    define: { EMBEDDED_MIGRATIONS: JSON.stringify(readMigrations()) },
  }
}

/**
 * Lets CommonJS inside a module require Node's own modules. A module has no `require`, and the usual mend, a
 * `createRequire(import.meta.url)` in its first line, breaks in an application that bundles it again as
 * CommonJS, where that URL is empty. `process.getBuiltinModule` is in both, and no earlier than `require`.
 */
const nodeBuiltins: Plugin = {
  name: 'node-builtins',
  setup(bundler) {
    bundler.onResolve({ filter: /./ }, ({ kind, path }) =>
      kind === 'require-call' && isBuiltin(path) ? { path, namespace: 'node-builtin' } : undefined,
    )
    bundler.onLoad({ filter: /./, namespace: 'node-builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)})`,
    }))
  },
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
  const folder = join(import.meta.dirname, '..', 'migrations')
  const names = readdirSync(folder).filter(name => name.endsWith('.sql'))
  return names.sort().map(name => [name, readFileSync(join(folder, name), 'utf8')])
}
