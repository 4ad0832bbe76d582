import type { Offence, Rule } from '../rule.ts'
import { isTypeScript } from '../rule.ts'

const kebab = /^[a-z0-9]+(-[a-z0-9]+)*$/
const snake = /^[a-z0-9]+(_[a-z0-9]+)*$/

/** Where a file may be named after a function's purpose, which is snake_case everywhere. */
const namesPurposes = /^(functions|shared\/sweeps|test\/.+)\/[^/]+$/

const vague = /(^|[/._-])(util|helper|common|manager|lib)s?(?=$|[/._-])/i
/** What others named so: the AWS service. */
const properName = /secrets-manager/

/** The name without what a tool reads in it: `x.test.ts` and `x.config.ts` are named x. */
const stem = (path: string) => (path.split('/').at(-1) ?? '').replace(/\.(test\.|config\.|d\.)?ts$/, '')

const onName = (path: string, isWrong: boolean): Offence[] => (isWrong ? [{ line: 1, what: path }] : [])

export const nameRules: readonly Rule[] = [
  {
    holds: 'files are named in kebab-case, those of a purpose in snake_case',
    instead: 'Name the file as its one main export; a purpose stands in functions/, shared/sweeps/ or test/.',
    reads: isTypeScript,
    offences: ({ path }) => {
      const isRight = kebab.test(stem(path)) || (namesPurposes.test(path) && snake.test(stem(path)))
      return onName(path, !isRight)
    },
    planted: { path: 'shared/core/retry_curve.ts', text: 'export {}\n', lines: [1] },
    lookAlike: { path: 'shared/sweeps/expired_locks.ts', text: 'export {}\n' },
  },
  {
    holds: 'folders are named in kebab-case',
    instead: 'Lower case, words joined by a hyphen.',
    reads: path => path.includes('/') && !path.startsWith('.'),
    offences: ({ path }) =>
      onName(
        path,
        !path
          .split('/')
          .slice(0, -1)
          .every(name => kebab.test(name)),
      ),
    planted: { path: 'shared/coreParts/a.ts', text: '', lines: [1] },
    lookAlike: { path: 'test/unit/core/a.test.ts', text: '' },
  },
  {
    holds: 'a name says what the thing is',
    instead: 'What does it make true, or which noun is it? A name that fits anything tells nothing.',
    reads: path => !path.startsWith('node_modules/'),
    offences: ({ path }) => onName(path, vague.test(path.replace(properName, ''))),
    planted: { path: 'test/support/db-helpers.ts', text: '', lines: [1] },
    lookAlike: { path: 'functions/calibrate/secrets-manager.ts', text: '' },
  },
  {
    holds: 'a migration is numbered and named',
    instead: 'NNNN_what_becomes_true.sql, the number one above the last.',
    reads: path => path.startsWith('migrations/') && !path.endsWith('.md'),
    offences: ({ path }) => onName(path, !/^migrations\/\d{4}_[a-z0-9]+(_[a-z0-9]+)*\.sql$/.test(path)),
    planted: { path: 'migrations/1-Jobs.sql', text: '', lines: [1] },
    lookAlike: { path: 'migrations/0002_job_events.sql', text: '' },
  },
]
