import { describe, expect, test } from 'vitest'
import type { Offence } from './rule.ts'
import { codeRules } from './rules/code.ts'
import { nameRules } from './rules/names.ts'
import { packageRules } from './rules/package.ts'
import { proseRules } from './rules/prose.ts'
import { sizeRules } from './rules/sizes.ts'
import { sqlRules } from './rules/sql.ts'
import { testRules } from './rules/tests.ts'
import { pathsOf, projectRoot, readSource } from './tree.ts'

const rules = [
  ...sizeRules,
  ...nameRules,
  ...codeRules,
  ...sqlRules,
  ...testRules,
  ...proseRules,
  ...packageRules,
]

const files = pathsOf(projectRoot).map(path => readSource(projectRoot, path))

const linesOf = (offences: readonly Offence[]) => offences.map(({ line }) => line).sort((a, b) => a - b)

describe.each(rules)('$holds', ({ reads, offences, planted, lookAlike, instead }) => {
  test('in this tree', () => {
    const read = files.filter(file => reads(file.path))
    expect(read, 'a rule that finds nothing to read holds nothing').not.toEqual([])
    const found = read.flatMap(file =>
      offences(file).map(({ line, what }) => `${file.path}:${line}: ${what}`),
    )
    expect(found, instead).toEqual([])
  })

  test('finds a planted offence', () => {
    expect(reads(planted.path)).toBe(true)
    expect(linesOf(offences(planted))).toEqual(planted.lines)
  })

  test('spares what only looks like one', () => {
    expect(reads(lookAlike.path)).toBe(true)
    expect(offences(lookAlike)).toEqual([])
  })
})
