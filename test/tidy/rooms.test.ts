import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { isTypeScript } from './rule.ts'
import { syntaxOf } from './syntax.ts'
import { pathsOf, projectRoot, readSource } from './tree.ts'

interface Cruise {
  readonly modules: { source: string; dependencies: { module: string }[] }[]
  readonly summary: { violations: { from: string; to: string; rule: { name: string } }[] }
}

/** Runs the very command of `npm run check:rooms` in a tree, and reads what it found. */
function cruise(root: string): Cruise {
  const script = execFileSync('npm', ['pkg', 'get', 'scripts.check:rooms'], { cwd: root, encoding: 'utf8' })
  const [command = '', ...words] = (JSON.parse(script) as string).split(' ')
  const executable = join(projectRoot, 'node_modules', '.bin', command)
  const run = spawnSync(executable, [...words, '--output-type', 'json'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 100_000_000,
  })
  expect(run.stderr).toBe('')
  return JSON.parse(run.stdout) as Cruise
}

describe('the rooms of this tree', () => {
  const found = cruise(projectRoot)
  const sources = pathsOf(projectRoot).filter(isTypeScript)

  test('are kept apart', () => {
    expect(found.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`)).toEqual([])
  })

  test('are cruised whole', () => {
    expect(sources).not.toEqual([])
    expect(found.modules.map(({ source }) => source)).toEqual(expect.arrayContaining(sources))
  })

  test('are cruised with every import that a file makes, of types too', () => {
    const bare = (name: string) => name.replace(/^node:/, '')
    const edges = new Map(
      found.modules.map(each => [each.source, each.dependencies.map(({ module }) => bare(module))]),
    )
    const overlooked = sources.flatMap(path =>
      syntaxOf(readSource(projectRoot, path))
        .imports.filter(specifier => !edges.get(path)?.includes(bare(specifier)))
        .map(specifier => `${path}: ${specifier}`),
    )
    expect(overlooked).toEqual([])
  })
})

describe('a planted offence is found', () => {
  const root = mkdtempSync(join(tmpdir(), 'taskq-rooms-'))
  afterAll(() => rmSync(root, { recursive: true }))

  const planted: Record<string, string> = {
    'shared/core/pure.ts': "import { createHash } from 'node:crypto'\nexport const pure = createHash",
    'shared/core/states.ts': "import { parse } from './text.ts'\nexport const states = parse",
    'shared/core/text.ts':
      "import type { states } from './states.ts'\nexport const parse = (a: typeof states) => a",
    'shared/core/alone.ts': 'export const alone = 1',
    'shared/sql/a.ts': "import { b } from './b.ts'\nexport const a = () => b",
    'shared/sql/b.ts': "import { a } from './a.ts'\nexport const b = () => a",
    'shared/sql/typed.ts': "import type pg from 'pg'\nexport type { pg }",
    'shared/db/pg.ts': "import pg from 'pg'\nexport { pg }",
    'shared/feed/reads.ts': "export type { sweep } from '../sweeper/run.ts'",
    'shared/sweeper/run.ts': "export { core } from 'aws-cdk-lib'\nexport const sweep = 1",
    'shared/sweeps/one.ts': "export { sweep } from '../sweeper/run.ts'",
    'shared/sweeps/two.ts': "export { sweep } from './one.ts'",
    'shared/sweeps/promotion.ts': "export { sweep } from '../sweeper/run.ts'",
    'shared/sweeps/index.ts': "export * from './one.ts'\nexport * from './two.ts'",
    'shared/worker/claim.ts': "export * from '../sweeps/promotion.ts'\nexport * from '../sweeps/one.ts'",
    'shared/limits/using.ts':
      "export const a = async () => {\n  using b = await import('../feed/reads.ts')\n}",
    'shared/attic/box.ts': "export { sweep } from '../sweeper/run.ts'",
    'shared/client/sends.ts': "import '@aws-sdk/client-secrets-manager'\nimport 'esbuild'\nimport 'missing'",
    'functions/migrate.ts': "import { app } from '../infra/app.ts'\nimport 'semver'\nexport { app }",
    'functions/cli/now.ts': "import { app } from '../../infra/app.ts'\nexport { app }",
    'functions/cli/late.ts': "export const app = async () => (await import('../../infra/app.ts')).app",
    'infra/app.ts': "export { far as app } from './far.ts'",
    'infra/far.ts': "export { pg as far } from '../shared/db/pg.ts'",
    'test/unit/fine.test.ts': "import '../../infra/app.ts'\nimport 'pg'\nimport 'aws-cdk-lib'",
    'examples/tests.ts': "import '../test/unit/fine.test.ts'",
  }

  test('each by its own rule', () => {
    for (const [path, text] of Object.entries(planted)) {
      mkdirSync(dirname(join(root, path)), { recursive: true })
      writeFileSync(join(root, path), `${text}\n`)
    }
    for (const path of ['package.json', '.dependency-cruiser.mjs'])
      cpSync(join(projectRoot, path), join(root, path))
    symlinkSync(join(projectRoot, 'node_modules'), join(root, 'node_modules'))

    const inPackage = /^.*node_modules\/((@[^/]+\/)?[^/]+)\/.*$/
    const offences = cruise(root).summary.violations.map(({ rule, from, to }) =>
      rule.name === 'no-orphan'
        ? `${rule.name}: ${from}`
        : `${rule.name}: ${from} → ${to.replace(inPackage, '$1')}`,
    )
    expect(offences.sort()).toMatchInlineSnapshot(`
      [
        "core-is-pure: shared/core/pure.ts → crypto",
        "declared-package: functions/migrate.ts → semver",
        "functions-import-infra-late: functions/cli/now.ts → infra/app.ts",
        "infra-reaches-no-driver: infra/app.ts → pg",
        "infra-reaches-no-driver: infra/far.ts → pg",
        "no-cycle: shared/core/states.ts → shared/core/text.ts",
        "no-cycle: shared/sql/a.ts → shared/sql/b.ts",
        "no-development-package-at-run-time: shared/client/sends.ts → esbuild",
        "no-development-package-at-run-time: shared/sweeper/run.ts → aws-cdk-lib",
        "no-orphan: shared/core/alone.ts",
        "no-sweep-imports-a-sweep: shared/sweeps/two.ts → shared/sweeps/one.ts",
        "no-unknown-room: shared/attic/box.ts → shared/sweeper/run.ts",
        "package-aws: shared/client/sends.ts → @aws-sdk/client-secrets-manager",
        "package-cdk: shared/sweeper/run.ts → aws-cdk-lib",
        "package-drivers: shared/sql/typed.ts → pg",
        "resolvable: shared/client/sends.ts → missing",
        "room-examples: examples/tests.ts → test/unit/fine.test.ts",
        "room-functions: functions/migrate.ts → infra/app.ts",
        "room-infra: infra/far.ts → shared/db/pg.ts",
        "room-shared-feed: shared/feed/reads.ts → shared/sweeper/run.ts",
        "room-shared-limits: shared/limits/using.ts → shared/feed/reads.ts",
        "room-shared-worker: shared/worker/claim.ts → shared/sweeps/one.ts",
      ]
    `)
  })
})
