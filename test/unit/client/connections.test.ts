import { beforeEach, describe, expect, it } from 'vitest'
import { type Connections, connectionSet } from '../../../shared/client/connections.ts'
import type { Connection } from '../../../shared/sql/connection.ts'

interface Fake {
  readonly number: number
  usable: boolean
  closed: boolean
}

let opened: Fake[] = []
let nowMs = 0
let refuseNext = false

function openSet(max: number): Connections {
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
  return connectionSet({ connect, nowMs: () => nowMs }, max)
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
})
