import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Mode, modes } from '../support/modes.ts'
import { differences, type Ran } from '../support/same-tests.ts'
import { projectRoot } from './tree.ts'

const textOf = (path: string) => readFileSync(join(projectRoot, path), 'utf8')

describe.each(modes)('the mode $name', ({ name, needs, folders, exceptions = {} }) => {
  it('stands in docs/testing.md, and what it needs in .ci/run', () => {
    const row = textOf('docs/testing.md')
      .split('\n')
      .find(line => line.startsWith(`| \`${name}\` |`) && line.split('|').length === 6)
    expect(row).toContain(needs === undefined ? ' | |' : `| \`${needs.package}\` |`)
    if (needs !== undefined) expect(textOf('.ci/run')).toContain(`${needs.package} ${needs.file}`)
  })

  it('leaves out files that it would run, each for a reason', () => {
    for (const [file, reason] of Object.entries(exceptions)) {
      expect(existsSync(join(projectRoot, file))).toBe(true)
      expect(folders.some(folder => file.startsWith(`${folder}/`))).toBe(true)
      expect(reason).toMatch(/^[a-z].{10,}/)
    }
  })
})

describe('a mode that ran', () => {
  const mode: Mode = {
    name: 'a mode',
    folders: ['a'],
    exceptions: { 'a/left-out.test.ts': 'because' },
    plans: false,
    start: () => Promise.reject(new Error('not started here')),
  }
  const ran = (files: Record<string, string[]>): Ran => new Map(Object.entries(files))
  const expected = ran({
    'a/x.test.ts': ['one', 'two', 'two', 'plans > four'],
    'a/left-out.test.ts': ['three'],
    'b/y.ts': ['four'],
  })

  it('the tests of its files, and only them, is as it should be', () => {
    expect(differences(mode, expected, ran({ 'a/x.test.ts': ['two', 'one', 'two'] }))).toEqual([])
  })

  it('the laws of plans too, is as it should be where it is a server of its own', () => {
    const server = { ...mode, plans: true }
    expect(differences(server, expected, expected)).toEqual([])
    const without = ran({ 'a/x.test.ts': ['one', 'two', 'two'] })
    expect(differences(server, expected, without)).toEqual(['a mode lacks a/x.test.ts > plans > four'])
  })

  it.each<[string, Ran, string[]]>([
    ['no file', ran({}), ['a mode did not run a/x.test.ts']],
    ['too few tests', ran({ 'a/x.test.ts': ['one', 'two'] }), ['a mode lacks a/x.test.ts > two']],
    [
      'other tests',
      ran({ 'a/x.test.ts': ['one', 'two', 'other'] }),
      ['a mode lacks a/x.test.ts > two', 'a mode alone has a/x.test.ts > other'],
    ],
  ])('%s is told', (_, found, lines) => {
    expect(differences(mode, expected, found)).toEqual(lines)
  })
})
