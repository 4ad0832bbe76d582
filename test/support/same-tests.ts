import { relative } from 'node:path'
import type { Plugin } from 'vitest/config'
import type { Reporter, TestModule, Vitest } from 'vitest/node'
import { isMissing, type Mode, modes } from './modes.ts'

/** What ran in one mode: the full names of its tests, by file from the project's root. */
export type Ran = ReadonlyMap<string, readonly string[]>

/**
 * What a mode did not run as the default mode did, in the files that are its to run: a file, or a test that
 * it lacks or has alone. One line each; none where all is well.
 */
export function differences(mode: Mode, expected: Ran, found: Ran): string[] {
  const inFolders = (file: string) => mode.folders.some(folder => file.startsWith(`${folder}/`))
  const files = [...expected.keys()].filter(file => inFolders(file) && mode.exceptions?.[file] === undefined)
  return files.flatMap(file => {
    const tests = found.get(file)
    if (tests === undefined) return [`${mode.name} did not run ${file}`]
    const wanted = (expected.get(file) ?? []).filter(name => mode.plans || !isOfPlans(name))
    return [
      ...without(wanted, tests).map(name => `${mode.name} lacks ${file} > ${name}`),
      ...without(tests, wanted).map(name => `${mode.name} alone has ${file} > ${name}`),
    ]
  })
}

/** The chapter of the laws that a mode without a server of its own leaves out. */
const isOfPlans = (name: string) => name.split(' > ').includes('plans')

/** What one list has more of than another. */
function without(names: readonly string[], others: readonly string[]): string[] {
  const left = [...others]
  return names.filter(name => {
    const place = left.indexOf(name)
    if (place >= 0) left.splice(place, 1)
    return place < 0
  })
}

/**
 * Fails a run in which a mode ran other tests than the default mode, or in which any suite skipped one, and
 * says at its end which modes this machine has no server for. A plugin of the default mode's project, since
 * it is the measure, and because a reporter in the configuration would give way to any `--reporter` of the
 * command line.
 */
export function seesSameTests(): Plugin {
  return {
    name: 'same-tests',
    configureVitest: ({ vitest }) => void vitest.config.reporters.push(reporterOf(vitest)),
  }
}

function reporterOf(vitest: Vitest): Reporter & object {
  return {
    onTestRunEnd: modules => {
      const [measure, ...others] = modes
      const { root } = vitest.config
      const ranIn = (mode: Mode | undefined) => ran(modules, mode?.name, root)
      const running = others.filter(({ name }) => vitest.projects.some(project => project.name === name))
      const differing = running.flatMap(mode => differences(mode, ranIn(measure), ranIn(mode)))
      const found = [...differing, ...skipped(modules, root)]
      // Whoever asks for tests by name skips the others on purpose.
      const counted = vitest.config.testNamePattern === undefined ? found : []
      if (counted.length > 0) process.exitCode = 1
      const missing = others.filter(isMissing).map(({ name, needs }) => {
        return `${name} is not tested here: apt-get install ${needs?.package}`
      })
      for (const line of [...counted, ...missing]) process.stderr.write(`${line}\n`)
    },
  }
}

function ran(modules: readonly TestModule[], project: string | undefined, root: string): Ran {
  const own = modules.filter(module => module.project.name === project)
  return new Map(
    own.map(module => {
      const names = [...module.children.allTests()].map(test => test.fullName)
      return [relative(root, module.moduleId), names]
    }),
  )
}

function skipped(modules: readonly TestModule[], root: string): string[] {
  const tests = modules.flatMap(module => [...module.children.allTests('skipped')])
  return tests.map(({ project, module, fullName }) => {
    return `${project.name} skipped ${relative(root, module.moduleId)} > ${fullName}`
  })
}
