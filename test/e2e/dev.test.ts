import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { startTaskq, type Taskq } from './cli-process.ts'
import { useFolder } from './own-folder.ts'

const folder = useFolder()
const patiently = { timeout: 90_000 }

const started: Taskq[] = []
afterEach(async () => {
  for (const { child, ended } of started.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
})

/** Starts `taskq dev` in a process group of its own, as a terminal does. */
function startDev(): Taskq {
  const options = { cwd: folder().path, env: folder().env, detached: true }
  const dev = startTaskq(['dev'], options)
  started.push(dev)
  return dev
}

const untilPrinted = (dev: Taskq, text: string) =>
  expect.poll(() => dev.printed.stdout, patiently).toContain(text)

/** Ctrl-C: the signal goes to everything in the terminal's foreground. */
const pressControlC = (dev: Taskq) => process.kill(-(dev.child.pid ?? 0), 'SIGINT')

const partsOf = (dev: Taskq) => ({
  url: /TASKQ_DATABASE_URL=(\S+)/.exec(dev.printed.stdout)?.[1] ?? '',
  workerPid: Number(/worker: process (\d+)/.exec(dev.printed.stdout)?.[1]),
})

async function succeededJobs(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query(
      `select count(*)::int as jobs from taskq.jobs where status = 'succeeded'`,
    )
    return rows[0].jobs
  } finally {
    await client.end()
  }
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const isReachable = (url: string) =>
  succeededJobs(url).then(
    () => true,
    () => false,
  )

test('two copies run at once, and Ctrl-C stops each in order, with nothing left', {
  timeout: 300_000,
}, async () => {
  const [first, second] = [startDev(), startDev()]
  for (const dev of [first, second]) await untilPrinted(dev, 'ready:')
  const [one, two] = [partsOf(first), partsOf(second)]
  expect(one.url).not.toBe(two.url)
  for (const { url } of [one, two]) {
    await expect.poll(() => succeededJobs(url), patiently).toBeGreaterThan(2)
  }
  for (const purpose of ['promotion', 'expired_locks', 'deadline_exceeded']) {
    await untilPrinted(first, `${purpose} drained`)
  }

  pressControlC(first)
  const ended = await first.ended
  expect(ended).toMatchObject({ code: 0, signal: null })
  const order = [
    'stopping: no more jobs',
    'stopped: the worker',
    'stopped: the functions',
    'stopped: the database',
  ]
  const places = order.map(line => ended.stdout.indexOf(line))
  expect(places).toEqual([...places].sort((a, b) => a - b))
  expect(places[0]).toBeGreaterThan(0)
  expect([isAlive(one.workerPid), await isReachable(one.url)]).toEqual([false, false])

  const before = await succeededJobs(two.url)
  await expect.poll(() => succeededJobs(two.url), patiently).toBeGreaterThan(before)
  pressControlC(second)
  expect(await second.ended).toMatchObject({ code: 0, signal: null })
  expect([isAlive(two.workerPid), await isReachable(two.url)]).toEqual([false, false])
  expect(folder().contents()).toEqual([])
})

test('Ctrl-C while it still starts is a clean end, too', async () => {
  const dev = startDev()
  await untilPrinted(dev, 'database:')
  pressControlC(dev)
  expect(await dev.ended).toMatchObject({ code: 0, signal: null })
  expect(folder().contents()).toEqual([])
})

test('killed outright, it takes everything with it, and the next one clears up', {
  timeout: 300_000,
}, async () => {
  const killed = startDev()
  await untilPrinted(killed, 'ready:')
  const { url, workerPid } = partsOf(killed)
  killed.child.kill('SIGKILL')
  await killed.ended
  await expect.poll(() => isAlive(workerPid), patiently).toBe(false)
  await expect.poll(() => isReachable(url), patiently).toBe(false)

  const next = startDev()
  await untilPrinted(next, 'database:')
  pressControlC(next)
  await next.ended
  expect(folder().contents()).toEqual([])
})
