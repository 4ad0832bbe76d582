import { expect, test } from 'vitest'
import { log } from '../../../functions/runtime/log.ts'
import { readSettings } from '../../../shared/core/read-settings.ts'
import { printed } from '../../support/printed.ts'

const at = (level: string) => readSettings({ TASKQ_LOG_LEVEL: level })

test('a line of the log is one JSON, its fields beside its message', () => {
  const lines = printed(() =>
    log(at('info'), 'info', 'promotion drained', { function: 'promotion', rows: 3 }),
  )
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 'INFO',
    message: 'promotion drained',
    function: 'promotion',
    rows: 3,
  })
})

test.each([
  ['debug', ['debug', 'info', 'warn', 'error']],
  ['info', ['info', 'warn', 'error']],
  ['warn', ['warn', 'error']],
  ['error', ['error']],
])('at the level %s, exactly these are printed: %s', (level, expected) => {
  const levels = ['debug', 'info', 'warn', 'error'] as const
  const shown = levels.filter(each => printed(() => log(at(level), each, 'x')).length > 0)
  expect(shown).toEqual(expected)
})
