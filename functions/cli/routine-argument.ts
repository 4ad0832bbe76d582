import { InvalidInputError } from '../../shared/core/errors.ts'
import { settingsTable } from '../../shared/core/settings.ts'
import type { Routine } from '../../shared/sweeper/define.ts'
import { routines } from '../../shared/sweeps/index.ts'
import type { Call } from './verb.ts'

/** The scheduled function that a word names; what else it could have been is told where there is none. */
export function routineNamed(name: string, others: readonly string[] = []): Routine {
  const found = routines.find(({ purpose }) => purpose === name)
  if (found !== undefined) return found
  const known = [...routines.map(({ purpose }) => purpose), ...others].join(', ')
  throw new InvalidInputError('USAGE', 'FUNCTION', `"${name}" is none; there are ${known}`)
}

/** The number of a flag that stands for a setting, in that setting's range. */
export function bySetting(call: Call, flag: string, setting: 'sweepDrainBatches' | Routine['batchSize']) {
  const text = call.text(flag)
  if (text === undefined) return undefined
  const read = settingsTable[setting].schema.safeParse(text)
  if (read.success) return read.data
  throw new InvalidInputError('USAGE', `--${flag}`, read.error.issues[0]?.message ?? 'is wrong')
}
