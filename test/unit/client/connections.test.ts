import { beforeEach, describe, expect, it } from 'vitest'
import { type Connections, connectionSet } from '../../../shared/client/connections.ts'
import type { Connection, Runner } from '../../../shared/sql/connection.ts'

interface Fake {
  readonly number: number
  usable: boolean
  closed: boolean
}

let opened: Fake[] = []
let nowMs = 0
let refuseNext = false

function openSet(max: number, requests?: Runner): Connections {
  const connect = async () => {
    if (refuseNext) {
      refuseNext = false
      throw new Error('refused')
    }
    const fake = { number: opened.length, usable: true, closed: false }
    opened.push(fake)
    return {
      ...fake,
      get usable() {
        return fake.usable
      },
      close: async () => {
        fake.closed = true
      },
    } as unknown as Connection
  }
  const ports = { connect, nowMs: () => nowMs }
  return connectionSet(requests === undefined ? ports : { ...ports, requests: async () => requests }, max)
}

beforeEach(() => {
  opened = []
  nowMs = 0
  refuseNext = false
})

const numberOf = async (connection: Connection) => (connection as unknown as Fake).number
const isOpen = () => opened.filter(fake => !fake.closed).map(fake => fake.number)

describe('a set of connections', () => {
  it('opens none before it is used, and one for work that follows other work', async () => {
    const set = openSet(4)
    expect(opened).toHaveLength(0)
    expect([await set.use(numberOf), await set.use(numberOf)]).toEqual([0, 0])
  })

  it('opens as many as are in use at a time, at most its bound, and serves the rest in turn', async () => {
    const set = openSet(2)
    const order: number[] = []
    const work = [1, 2, 3, 4, 5].map(n => set.use(async () => order.push(n)))
    await Promise.all(work)
    expect(opened).toHaveLength(2)
    expect(order).toEqual([1, 2, 3, 4, 5])
  })

  it('trusts no socket that sat idle for over half a minute: frozen peers say nothing', async () => {
    const set = openSet(2)
    await set.use(numberOf)
    nowMs = 29_000
    expect(await set.use(numberOf)).toBe(0)
    nowMs = 60_000
    expect(await set.use(numberOf)).toBe(1)
    expect(isOpen()).toEqual([1])
  })

  it('drops what sat idle beside a connection that was lost', async () => {
    const set = openSet(3)
    await Promise.all([set.use(numberOf), set.use(numberOf), set.use(numberOf)])
    const lost = set.use(async connection => {
      const fake = opened[await numberOf(connection)]
      if (fake !== undefined) fake.usable = false
      throw new Error('lost')
    })
    await expect(lost).rejects.toThrow('lost')
    expect(isOpen()).toEqual([])
    expect(await set.use(numberOf)).toBe(3)
  })

  it('goes on after a connection could not be had, waiting work included', async () => {
    const set = openSet(1)
    refuseNext = true
    const [first, second] = await Promise.allSettled([set.use(numberOf), set.use(numberOf)])
    expect(first.status).toBe('rejected')
    expect(second).toMatchObject({ status: 'fulfilled', value: 0 })
  })

  it('closes all when it is closed, those in use after their work, and opens no other', async () => {
    const set = openSet(2)
    const { promise, resolve } = Promise.withResolvers<void>()
    await Promise.all([set.use(numberOf), set.use(numberOf)])
    const working = set.use(async () => promise)
    await set.close()
    expect(isOpen()).toHaveLength(1)
    resolve()
    await working
    expect(isOpen()).toEqual([])
    await expect(set.use(numberOf)).rejects.toThrow(/closed/)
  })

  it('runs what stands alone by requests, as many at a time as connections, or on an idle one', async () => {
    const requests = { run: async () => [] } as Runner
    const set = openSet(2, requests)
    const under: PromiseWithResolvers<void>[] = []
    const seen: Runner[] = []
    const lone = () =>
      set.lone(async runner => {
        seen.push(runner)
        const way = Promise.withResolvers<void>()
        under.push(way)
        await way.promise
      })
    const asked = [lone(), lone(), lone()]
    await expect.poll(() => under.length).toBe(2)
    const used = set.use(numberOf)
    under.shift()?.resolve()
    under.shift()?.resolve()
    expect(await used).toBe(0)
    await expect.poll(() => under.length).toBe(1)
    under.shift()?.resolve()
    await Promise.all(asked)
    expect(seen.filter(runner => runner === requests).length).toBeGreaterThanOrEqual(2)
    const onIdle = await set.lone(async runner => runner !== requests)
    expect([onIdle, opened.length]).toEqual([true, 1])
  })
})
