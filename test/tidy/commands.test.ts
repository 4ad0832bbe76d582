import { describe, expect, test } from 'vitest'
import { readArguments } from '../../functions/cli/arguments.ts'
import { verbNamed } from '../../functions/cli/verb-named.ts'
import { verbs } from '../../functions/cli/verbs/index.ts'
import { verbsOfClone } from '../../functions/cli/verbs/verbs-of-clone.ts'
import { vitalSigns } from '../../shared/sweeper/vital-signs.ts'
import { sweeps } from '../../shared/sweeps/index.ts'
import { pathsOf, projectRoot, readSource } from './tree.ts'

const pages = pathsOf(projectRoot).filter(path => path.endsWith('.md'))

/** The commands in the shell blocks of a page, without what is said of them behind a `#`. */
function commandsOf(page: string): string[] {
  const blocks = [...readSource(projectRoot, page).text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
  const lines = blocks.flatMap(([, block = '']) => block.split('\n'))
  return lines.filter(line => line.startsWith('npx taskq ')).map(line => line.replace(/\s+# .*/, ''))
}

/** The words as a shell hands them over; nothing of a page needs more than plain quotes. */
const wordsOf = (command: string) =>
  (command.match(/'[^']*'|\S+/g) ?? []).slice(2).map(word => word.replace(/^'(.*)'$/, '$1'))

const commands = pages.flatMap(page => commandsOf(page).map(command => ({ page, command })))

describe('a command that a page shows', () => {
  test.each(commands)('$command, of $page, is one that there is', ({ command }) => {
    const argv = wordsOf(command)
    const verb = verbNamed(verbs, argv)
    if (verb === undefined) throw new Error(`${command}: there is no such verb`)
    const { words } = readArguments(verb, argv.slice(verb.name.split(' ').length))
    const place = verb.words.findIndex(word => /FUNCTION/.test(word))
    // The watcher can be run by hand; it has neither rows, a breaker nor a switch.
    const purposes = sweeps.map(sweep => sweep.purpose)
    const known = verb.name === 'run' ? [...purposes, vitalSigns.purpose] : purposes
    if (words[place] !== undefined) expect(known).toContain(words[place])
  })

  test('is there for every verb, in the README', () => {
    const shown = commandsOf('README.md').map(command => verbNamed(verbs, wordsOf(command))?.name)
    const own = verbs.filter(verb => !verbsOfClone.includes(verb)).map(verb => verb.name)
    expect([...new Set(shown)].sort()).toEqual(own.sort())
  })
})
