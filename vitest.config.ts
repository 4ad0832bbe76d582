import { defineConfig } from 'vitest/config'

/** The suites, and which of them need a database. `bench` never gates: only `npm run bench` runs it. */
const suites = [
  { name: 'tidy', database: false },
  { name: 'unit', database: false },
  { name: 'infra', database: false },
  { name: 'integration', database: true },
  { name: 'faults', database: true },
  { name: 'e2e', database: true },
]
const bench = { name: 'bench', database: true }
const wanted = process.argv.includes('bench') ? [bench] : suites

export default defineConfig({
  test: {
    // A missing or stale snapshot fails here as it does in CI; only `npm run gen` (or --update) writes one.
    update: 'none',
    projects: wanted.map(({ name, database }) => ({
      test: {
        name,
        include: [`test/${name}/**/*.test.ts`],
        globalSetup: database ? ['test/support/global-postgres.ts'] : [],
        testTimeout: 120_000,
        hookTimeout: 120_000,
      },
    })),
  },
})
