import { defineConfig } from 'vitest/config'
import { isMissing, modes } from './test/support/modes.ts'
import { seesSameTests } from './test/support/same-tests.ts'

const globalSetup = ['test/support/global-postgres.ts']

/** The suites that have no mode, and which of them need a database. */
const suites = [
  { name: 'tidy', globalSetup: [] },
  { name: 'unit', globalSetup: [] },
  { name: 'infra', globalSetup: [] },
  { name: 'faults', globalSetup },
  { name: 'e2e', globalSetup },
].map(suite => ({ ...suite, include: [`test/${suite.name}/**/*.test.ts`] }))

/**
 * The integration suite, once a mode. One whose server is not installed is left out, which the report of the
 * run says; where everything must run, it stays and fails.
 */
const inModes = modes
  .filter(mode => process.env['CI'] === 'true' || !isMissing(mode))
  .map(({ name, folders, setupFile, exceptions = {} }) => ({
    name,
    include: folders.map(folder => `${folder}/**/*.test.ts`),
    exclude: Object.keys(exceptions),
    globalSetup,
    setupFiles: setupFile ?? [],
  }))

/** `bench` never gates: only `npm run bench` runs it. */
const bench = { name: 'bench', include: ['test/bench/**/*.test.ts'], globalSetup }

export default defineConfig({
  test: {
    // A missing or stale snapshot fails here as it does in CI; only `npm run gen` (or --update) writes one.
    update: 'none',
    projects: (process.argv.includes('bench') ? [bench] : [...suites, ...inModes]).map(project => ({
      plugins: project.name === 'integration' ? [seesSameTests()] : [],
      test: { ...project, testTimeout: 120_000, hookTimeout: 120_000 },
    })),
  },
})
