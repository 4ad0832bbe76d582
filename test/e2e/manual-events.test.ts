import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { routines } from '../../shared/sweeps/index.ts'
import { useDatabase } from '../support/database.ts'
import { type Deployment, runDeployment } from '../support/deployment.ts'
import { type Login, makeLogin } from '../support/logins.ts'
import { secretArn, synthesized } from '../support/synthesis.ts'

const database = useDatabase()
const purposes = routines.map(({ purpose }) => purpose)
const maintenance = secretArn.replace('example', 'maintenance')
const asked = { trigger: 'manual', requestedBy: 'ada@laptop', reason: 'a larger instance' }
let deployment: Deployment
let poor: Deployment
let login: Login

/** The same stack twice: once as the owner of the schema, once as a login that may only enqueue. */
beforeAll(async () => {
  await database().rows('drop schema taskq cascade')
  const stack = await synthesized({ databaseSecrets: { maintenance } })
  deployment = await runDeployment(stack, database().url, {}, { [maintenance]: database().url })
  await deployment.deploy()
  login = await makeLogin(database(), 'in role taskq_client')
  poor = await runDeployment(stack, database().url, {}, { [maintenance]: login.url })
})
afterAll(async () => {
  await Promise.all([deployment.stop(), poor.stop()])
  await login.drop()
})
beforeEach(() =>
  database().rows(`truncate taskq.operator_audit;
    update taskq.sweep_state set latched_at = now(), consecutive_aborts = 3`),
)

const latched = () =>
  database().rows('select function from taskq.sweep_state where latched_at is not null order by function')
const audited = () => database().rows('select principal, action, target, reason from taskq.operator_audit')

test.each(purposes)('a manual event to %s resets its breaker, and no other', async purpose => {
  const before = await latched()
  expect(await deployment.invoke(purpose, { ...asked, resetBreaker: false })).toMatchObject({
    degraded: true,
  })
  expect(await latched()).toEqual(before)
  expect(await deployment.invoke(purpose, { ...asked, resetBreaker: true })).toMatchObject({
    degraded: false,
  })
  expect(await latched()).toEqual(before.filter(each => each['function'] !== purpose))
  const told = { principal: 'ada@laptop', target: purpose, reason: 'a larger instance' }
  expect(await audited()).toEqual([{ ...told, action: 'reset_breaker' }])
})

test.each(purposes)('a dry run of %s writes nothing, whatever else is asked', async purpose => {
  const everything = () =>
    database().rows(`select (select jsonb_agg(s order by function) from taskq.sweep_state s) as states,
      (select jsonb_agg(a) from taskq.operator_audit a) as audit`)
  const before = await everything()
  const all = { ...asked, resetBreaker: true, dryRun: true, batchSize: 1, maxBatches: 1, maxSeconds: 1 }
  expect(await deployment.invoke(purpose, all)).toMatchObject({ dryRun: true, eligible: 0 })
  expect(await everything()).toEqual(before)
})

test.each(purposes)('%s says what to do where its login lacks the grants', async purpose => {
  const failure = await poor.failureOf(poor.invoke(purpose, asked))
  expect(failure).toMatchObject({ errorType: 'PERMISSION_DENIED', code: 'PERMISSION_DENIED' })
  expect(failure.errorMessage).toMatch(
    /^permission denied for .*: make the login a member, with inherit, of the role that may \(docs/,
  )
})
