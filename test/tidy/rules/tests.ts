import { at, isRule, isTest, type Rule } from '../rule.ts'
import { literalOf, nodesOf, textOf } from '../syntax.ts'

const longSleepMs = 100

export const testRules: readonly Rule[] = [
  {
    holds: 'every test runs',
    instead:
      'Mend it or delete it; what cannot run everywhere fails where it cannot, saying what is missing.',
    reads: path => isTest(path) && !isRule(path),
    offences: file =>
      nodesOf(file, 'MemberExpression')
        .filter(member => /^(test|it|describe|suite)\b.*\.(skip|only|todo)$/s.test(textOf(file, member)))
        .map(member => at(file, member, textOf(file, member))),
    planted: {
      path: 'test/unit/a.test.ts',
      text: "test.skip('a', () => {})\ndescribe.only('b', () => {})\ntest.concurrent.todo('c')\n",
      lines: [1, 2, 3],
    },
    lookAlike: { path: 'test/unit/a.test.ts', text: "test('only the todo', () => list.skip(1))\n" },
  },
  {
    holds: 'tests wait on facts, never on time',
    instead:
      'Await what is returned, poll the database with expect.poll, or move the due time into the past.',
    reads: path => isTest(path) && !isRule(path),
    offences: file =>
      nodesOf(file, 'CallExpression')
        .filter(call => /(^|\.)(setTimeout|sleep|delay)$/.test(textOf(file, call['callee'])))
        .filter(call => (call['arguments'] as unknown[]).some(each => Number(literalOf(each)) >= longSleepMs))
        .map(call => at(file, call, textOf(file, call).slice(0, 80))),
    planted: {
      path: 'test/unit/a.test.ts',
      text: 'await sleep(1_500)\nawait new Promise(done => setTimeout(done, 100))\n',
      lines: [1, 2],
    },
    lookAlike: {
      path: 'test/unit/a.test.ts',
      text: 'await sleep(20)\nsetTimeout(done, pollMs)\nwait(5000)\n',
    },
  },
]
