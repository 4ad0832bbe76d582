import { defineConfig } from 'vitest/config'

/** The suites. `bench` never gates: it runs only through `npm run bench`. */
const suites = ['tidy', 'unit', 'integration', 'infra', 'e2e', 'faults']
const wanted = process.argv.includes('bench') ? ['bench'] : suites

export default defineConfig({
  test: {
    // A missing or stale snapshot fails here as it does in CI; only `npm run gen` (or --update) writes one.
    update: 'none',
    projects: wanted.map(name => ({
      test: {
        name,
        include: [`test/${name}/**/*.test.ts`],
        testTimeout: 120_000,
        hookTimeout: 120_000,
      },
    })),
  },
})
