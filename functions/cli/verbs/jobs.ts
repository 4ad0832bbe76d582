import { checkJobId } from '../../../shared/client/get-job.ts'
import { readRetry, retryJobAudited } from '../../../shared/client/retry-job.ts'
import type { Answer } from '../answer.ts'
import { operating } from '../operating.ts'
import { operatorOf, reasonFlag } from '../operator.ts'
import type { Call, Verb } from '../verb.ts'

/** What an operator does with single jobs. */
export const jobsVerbs: readonly Verb[] = [
  {
    name: 'jobs retry',
    summary: 'lets a job that failed, crashed or was cancelled run again, with its full budget',
    words: ['ID'],
    flags: { reason: reasonFlag },
    run: retry,
  },
]

/** `{id, from}`: the state that it was in. */
async function retry(call: Call): Promise<Answer> {
  const field = 'ID'
  const [given = ''] = call.words
  checkJobId(given, field)
  // A uuid is pasted in capitals, too.
  const id = given.toLowerCase()
  const args = { id, ...operatorOf(call) }
  const [row] = await operating(call, transaction => transaction.run(retryJobAudited, args))
  const retried = readRetry(row, id, { field })
  return { json: retried, text: `${id} was ${retried.from}, and is pending: a worker may claim it now` }
}
