import type { Offence, Rule } from '../rule.ts'

const exactVersion = /^\d+\.\d+\.\d+(-[\w.]+)?$/

type Manifest = Readonly<Record<string, Readonly<Record<string, string>> | undefined>>

function inexact(text: string): Offence[] {
  const manifest = JSON.parse(text) as Manifest
  const asked = ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap(kind =>
    Object.entries(manifest[kind] ?? {}),
  )
  return asked
    .filter(([, version]) => !exactVersion.test(version))
    .map(([name, version]) => ({
      line: text.slice(0, text.indexOf(`"${name}"`)).split('\n').length,
      what: `${name} ${version}`,
    }))
}

export const packageRules: readonly Rule[] = [
  {
    holds: 'dependencies are exact',
    instead: '`npm install --save-exact`: what was tested is what is installed.',
    reads: path => path === 'package.json',
    offences: ({ text }) => inexact(text),
    planted: {
      path: 'package.json',
      text: '{\n"devDependencies": {\n"a": "1.0.0",\n"b": "^1.0.0",\n"c": "latest"\n}\n}',
      lines: [4, 5],
    },
    lookAlike: {
      path: 'package.json',
      text: '{"engines": {"node": ">=22"}, "dependencies": {"a": "18.4.0-beta.17"}}',
    },
  },
]
