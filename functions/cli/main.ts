import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readArguments } from './arguments.ts'
import { type ExitCode, exitCodeOf, exitCodes, knownError } from './exit-code.ts'
import { overview, verbHelp } from './help.ts'
import { Output } from './output.ts'
import { cliEnvironment, cliSettings } from './settings.ts'
import { watchSignals } from './signals.ts'
import type { Call, Verb } from './verb.ts'
import { unknownVerb, verbNamed } from './verb-named.ts'
import { verbs } from './verbs/index.ts'

/** Where the schema's name is not known yet, it is not what went wrong. */
let schema = 'taskq'

async function main(argv: readonly string[]): Promise<ExitCode> {
  const [name = ''] = argv
  const output = new Output(argv.includes('--json'))
  if (name === '--help' || name === 'help') {
    output.answer({ json: { verbs: verbs.map(verb => verb.name) }, text: overview(verbs) })
    return exitCodes.done
  }
  if (name === '--version') {
    const version = packageVersion()
    output.answer({ json: { version }, text: version })
    return exitCodes.done
  }
  const verb = verbNamed(verbs, argv)
  try {
    if (verb === undefined) throw unknownVerb(verbs, argv)
    return await perform(verb, argv.slice(verb.name.split(' ').length), output)
  } catch (error) {
    const known = knownError(error, schema)
    output.error(verb?.name ?? name, known)
    return exitCodeOf(known)
  }
}

async function perform(verb: Verb, argv: readonly string[], output: Output): Promise<ExitCode> {
  const { words, flags } = readArguments(verb, argv)
  if (flags['help'] === true) {
    const usage = verbHelp(verb)
    output.answer({ json: { usage: usage.join('\n') }, text: usage })
    return exitCodes.done
  }
  const text = (flag: string) => (typeof flags[flag] === 'string' ? flags[flag] : undefined)
  const environment = cliEnvironment({ 'database-url': text('database-url'), schema: text('schema') })
  const settings = cliSettings(environment, flags)
  schema = settings.schemaName
  const signal = watchSignals(() => output.note('ending after what is under way; once more ends at once'))
  const call: Call = { words, text, has: flag => flags[flag] === true, environment, settings, signal, output }
  const answer = await verb.run(call)
  output.answer(answer)
  return answer.exitCode ?? exitCodes.done
}

/** From the manifest, which is two folders up from here, and from the compiled command in the package. */
function packageVersion(): string {
  const manifest = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

// A reader that has seen enough, as `head` has, is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})
process.exitCode = await main(process.argv.slice(2))
