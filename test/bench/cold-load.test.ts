import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildBundles } from '../../infra/bundles.ts'
import { scheduled } from '../../shared/sweeps/index.ts'

/** What a bundle may add to the start of an empty Node process. */
const coldLoadMsMax = 40
const starts = 41

const folder = mkdtempSync(join(tmpdir(), 'taskq-cold-'))
const empty = join(folder, 'empty.mjs')
afterAll(() => rmSync(folder, { recursive: true }))

beforeAll(async () => {
  writeFileSync(empty, '')
  await buildBundles(folder)
})

function startMs(file: string): number {
  const beganMs = performance.now()
  const { status, stderr } = spawnSync(process.execPath, [file], { env: {}, encoding: 'utf8' })
  const ms = performance.now() - beganMs
  if (status !== 0) throw new Error(`${file}: ${stderr}`)
  return ms
}

/** The value below which a part of the values lie. */
const quantile = (values: readonly number[], part: number) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN

test.each(scheduled.map(({ purpose }) => purpose))(
  `%s loads in at most ${coldLoadMsMax} ms more than nothing`,
  purpose => {
    const bundle = join(folder, purpose, 'index.mjs')
    // In turns, so that whatever else the machine does falls on both alike.
    const pairs = Array.from({ length: starts }, () => [startMs(empty), startMs(bundle)] as const)
    const moreMs = (part: number) =>
      quantile(
        pairs.map(([, loaded]) => loaded),
        part,
      ) -
      quantile(
        pairs.map(([nothing]) => nothing),
        part,
      )
    process.stdout.write(
      `${purpose}: ${moreMs(0.5).toFixed(1)} ms, ${moreMs(0.25).toFixed(1)} ms when it is quiet\n`,
    )
    expect(moreMs(0.5)).toBeLessThanOrEqual(coldLoadMsMax)
  },
)
