import { execFile, spawnSync } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { arch, platform, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'

const runFile = promisify(execFile)

const project = join(import.meta.dirname, '../..')

/** The oldest Node that package.json allows, as its own package for this platform. */
const oldestNode = '22.18.0'
const nodePackage = `node-${platform() === 'win32' ? 'win' : platform()}-${arch()}`

/** What an application has beside ours. Esbuild is not among it, and neither is a Postgres. */
const beside = ['aws-cdk-lib', 'constructs', 'zod', 'pg', 'drizzle-orm', 'kysely', '@types/node', '@types/pg']

/** What is tried out, by its path here as there. */
export const consumerFiles = 'test/e2e/consumer'

/** A project that installed the package, in a folder from which nothing of this one can be found. */
export interface Consumer {
  readonly folder: string
  /** Where the package is in it. */
  readonly packageFolder: string
  /** Programs of Node by their names: the oldest that is supported, and this one. */
  readonly nodes: Readonly<Record<string, string>>
  /** Runs a program there; fails the test with what it said where it ends otherwise than well. */
  run(
    program: string,
    args: readonly string[],
    environment?: Readonly<Record<string, string>>,
  ): Promise<string>
  /** A new folder outside the project, from which none of its packages can be found. */
  aside(): string
  /** Gives it esbuild, as a project has that bundles functions of its own. */
  lendEsbuild(): void
  remove(): void
}

/**
 * Packs the package as `npm publish` would, and installs it. The registry is asked for what is not in npm's
 * cache: without a network the answer is why not, and where everything must run it is an error.
 */
export function installConsumer(): Consumer | string {
  const folder = join(mkdtempSync(join(tmpdir(), 'taskq-consumer-')), 'project')
  mkdirSync(folder)
  const npm = (args: readonly string[], cwd: string) => {
    const { status, stdout, stderr } = spawnSync('npm', [...args, '--loglevel=error'], {
      cwd,
      encoding: 'utf8',
    })
    return { failed: status !== 0, said: `${stdout}${stderr}` }
  }
  const packed = npm(['pack', '--pack-destination', folder], project)
  if (packed.failed) {
    rmSync(dirname(folder), { recursive: true })
    throw new Error(packed.said)
  }
  const tarball = readdirSync(folder).find(name => name.endsWith('.tgz')) ?? ''
  const manifest = { name: 'consumer', private: true, type: 'module' }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  const wanted = [
    ...beside.map(versioned),
    'typescript@5.9.3',
    `${nodePackage}@${oldestNode}`,
    `./${tarball}`,
  ]
  const flags = [
    '--save-exact',
    '--prefer-offline',
    '--fetch-retry-mintimeout=1000',
    '--no-audit',
    '--no-fund',
  ]
  const installed = npm(['install', ...flags, ...wanted], folder)
  if (installed.failed) {
    rmSync(dirname(folder), { recursive: true })
    const isOffline = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT/.test(installed.said)
    if (!isOffline || process.env['CI'] === 'true') throw new Error(installed.said)
    return 'the package is not tried out: the registry cannot be reached'
  }
  for (const path of ['examples', consumerFiles]) {
    cpSync(join(project, path), join(folder, path), { recursive: true })
  }
  return consumerIn(folder)
}

/** The version that this project uses itself. */
function versioned(name: string): string {
  const { version } = JSON.parse(
    readFileSync(join(project, 'node_modules', name, 'package.json'), 'utf8'),
  ) as { version: string }
  return `${name}@${version}`
}

function consumerIn(folder: string): Consumer {
  const modules = join(folder, 'node_modules')
  const nodes = {
    [`v${oldestNode}`]: join(modules, nodePackage, 'bin', 'node'),
    [process.version]: process.execPath,
  }
  return {
    folder,
    nodes,
    run: async (program, args, environment = {}) => {
      const path = [join(modules, '.bin'), dirname(program), '/usr/bin', '/bin'].join(delimiter)
      const env = { PATH: path, HOME: folder, NO_COLOR: '1', ...environment }
      const { stdout } = await runFile(program, args, { cwd: folder, env, maxBuffer: 100_000_000 }).catch(
        (error: Error & { stdout: string; stderr: string }) => {
          throw new Error(`${error.message}\n${error.stdout}${error.stderr}`)
        },
      )
      return stdout
    },
    packageFolder: join(modules, 'taskq-serverless'),
    aside: () => mkdtempSync(join(dirname(folder), 'aside-')),
    lendEsbuild: () => {
      for (const name of ['esbuild', `@esbuild/${platform()}-${arch()}`]) {
        cpSync(join(project, 'node_modules', name), join(modules, name), { recursive: true })
      }
      symlinkSync(join(modules, 'esbuild/bin/esbuild'), join(modules, '.bin/esbuild'))
    },
    remove: () => rmSync(dirname(folder), { recursive: true }),
  }
}
