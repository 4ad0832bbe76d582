import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { cron } from '../../shared/schedules/cron.ts'
import { vitalSigns } from '../../shared/sweeper/vital-signs.ts'
import { camelCase, definitionOf, handwrittenFunctions, purposesIn } from './definitions.ts'
import { renderEntry, renderIndex } from './render-code.ts'
import { renderFunctionsPage, renderSettingsPage } from './render-docs.ts'
import { renderVitalSignsPage } from './render-vital-signs.ts'
import { isGenerated, projectRoot, readSource } from './tree.ts'

const purposes = purposesIn(projectRoot)
const sweeps = await Promise.all(purposes.map(purpose => definitionOf(projectRoot, purpose)))

/** Everything that is derived from definitions and kept in the tree so that it can be read and deployed. */
const generated = [
  { file: 'shared/sweeps/index.ts', text: renderIndex(purposes) },
  ...sweeps.map(sweep => ({ file: `functions/${sweep.purpose}.ts`, text: renderEntry(sweep) })),
  { file: 'docs/functions.md', text: renderFunctionsPage([cron, ...sweeps], vitalSigns) },
  { file: 'docs/vital-signs.md', text: renderVitalSignsPage(vitalSigns) },
  { file: 'docs/settings.md', text: renderSettingsPage() },
]

describe('a generated file', () => {
  test.each(generated)('$file is up to date; if not, run `npm run gen`', async ({ file, text }) => {
    expect(isGenerated(text), 'it says so in its first line').toBe(true)
    await expect(text).toMatchFileSnapshot(join(projectRoot, file))
  })
})

test.each(purposes)('%s is held to the laws', purpose => {
  const { text } = readSource(projectRoot, `test/integration/sweeps/${purpose}.test.ts`)
  expect(text).toMatch(new RegExp(`\\blaws\\(\\{\\s*sweep: ${camelCase(purpose)},`))
})

test('functions/ holds one file for each function that is deployed, and no other', () => {
  const files = readdirSync(join(projectRoot, 'functions'), { withFileTypes: true })
  const deployed = files.filter(entry => entry.isFile()).map(entry => entry.name)
  const expected = [...purposes, ...handwrittenFunctions].map(purpose => `${purpose}.ts`)
  expect(purposes, 'without a definition all of this would hold of nothing').not.toEqual([])
  expect(
    deployed.filter(name => !expected.includes(name)),
    'delete it, or give it a definition',
  ).toEqual([])
  expect(deployed).toEqual(expect.arrayContaining(handwrittenFunctions.map(purpose => `${purpose}.ts`)))
})
