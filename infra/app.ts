import { isTaskQError } from '../shared/core/errors.ts'
import { synthesize } from './synthesis.ts'

// What a person has to correct is said in one line; a defect keeps its stack.
try {
  await synthesize()
} catch (error) {
  if (!isTaskQError(error)) throw error
  process.stderr.write(`${error.message}\n`)
  process.exitCode = 1
}
