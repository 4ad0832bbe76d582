import { beforeEach, describe, expect, it } from 'vitest'
import type { Connection } from '../../../shared/sql/connection.ts'
import { sql, statement } from '../../../shared/sql/statement.ts'
import { Link } from '../../../shared/worker/link.ts'

interface Fake {
  usable: boolean
  closed: boolean
}

let opened: Fake[] = []
let running = 0
let most = 0
let answer: (fake: Fake) => Promise<unknown> = async () => []

const link = () =>
  new Link(async () => {
    const fake = { usable: true, closed: false }
    opened.push(fake)
    const run = async () => {
      most = Math.max(most, ++running)
      try {
        return await answer(fake)
      } finally {
        running--
      }
    }
    const close = async () => {
      fake.closed = true
    }
    return Object.defineProperty({ run, close }, 'usable', {
      get: () => fake.usable,
    }) as unknown as Connection
  })

const any = statement('any', {}, sql`select`)

beforeEach(() => {
  opened = []
  running = 0
  most = 0
  answer = async () => []
})

describe('a link', () => {
  it('sends one statement at a time over one connection, in the order asked', async () => {
    const ends: number[] = []
    answer = () => new Promise(resolve => setImmediate(() => resolve([])))
    const one = link()
    await Promise.all([1, 2, 3, 4].map(n => one.run(any, {}).then(() => ends.push(n))))
    expect([opened.length, most, ends]).toEqual([1, 1, [1, 2, 3, 4]])
  })

  it('goes on after a statement that failed, on the same connection while that is usable', async () => {
    const one = link()
    answer = async () => {
      throw new Error('refused')
    }
    await expect(one.run(any, {})).rejects.toThrow('refused')
    answer = async () => ['ok']
    expect(await one.run(any, {})).toEqual(['ok'])
    expect(opened).toEqual([{ usable: true, closed: false }])
  })

  it('opens another connection after one was lost under a statement, which it does not repeat', async () => {
    const one = link()
    let sent = 0
    answer = async fake => {
      sent++
      fake.usable = false
      throw new Error('lost')
    }
    await expect(one.run(any, {})).rejects.toThrow('lost')
    answer = async () => []
    await one.run(any, {})
    expect([sent, opened.map(fake => fake.closed)]).toEqual([1, [true, false]])
  })

  it('opens another where the server ended the idle one, before anything is sent on it', async () => {
    const one = link()
    await one.run(any, {})
    for (const fake of opened) fake.usable = false
    expect(await one.run(any, {})).toEqual([])
    expect(opened.map(fake => fake.closed)).toEqual([true, false])
  })

  it('tries again with the next statement where no connection could be had', async () => {
    let refused = 1
    const one = new Link(async () => {
      if (refused-- > 0) throw new Error('unreachable')
      return { usable: true, run: async () => ['ok'], close: async () => undefined } as unknown as Connection
    })
    await expect(one.run(any, {})).rejects.toThrow('unreachable')
    expect(await one.run(any, {})).toEqual(['ok'])
  })

  it('that is dropped forgets a statement that hangs: the next one does not wait for it', async () => {
    const one = link()
    answer = () => new Promise(() => undefined)
    void one.run(any, {})
    await expect.poll(() => opened.length).toBe(1)
    await one.drop()
    answer = async () => ['ok']
    expect(await one.run(any, {})).toEqual(['ok'])
    expect(opened.map(fake => fake.closed)).toEqual([true, false])
  })
})
