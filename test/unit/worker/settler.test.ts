import { describe, expect, it } from 'vitest'
import type { Connection } from '../../../shared/sql/connection.ts'
import { Link } from '../../../shared/worker/link.ts'
import type { Settlement } from '../../../shared/worker/settle.ts'
import { Settler } from '../../../shared/worker/settler.ts'

type Args = { ids: readonly string[]; verbs: readonly string[] }

/** A settler whose statements a test answers, and whose sleeps take no time. */
function settlerAnswering(answer: (args: Args) => unknown) {
  const sent: Args[] = []
  const run = async (_statement: unknown, args: Args) => {
    sent.push(args)
    return answer(args)
  }
  const connection = { usable: true, run, close: async () => undefined } as unknown as Connection
  const ports = {
    connect: async () => connection,
    nowMs: () => 0,
    sleep: async (_ms: number, signal?: AbortSignal) => {
      if (signal?.aborted !== true) await new Promise(resolve => setImmediate(resolve))
    },
    turn: () => new Promise<void>(resolve => setImmediate(resolve)),
    report: () => undefined,
  }
  const worker = { workerId: 'w', name: 'w', hostname: 'h', kind: 'process' as const, queues: [] }
  const link = new Link(async () => connection)
  return { settler: new Settler(ports, link, worker, 1000), sent }
}

const allAs = (outcome: string) => (args: Args) =>
  args.ids.map((_, place) => ({ ordinal: place + 1, outcome }))

const settlement = (id: number, result = 'null'): Settlement => ({
  id: String(id),
  attempt: 1,
  epoch: 1,
  verb: 'complete',
  cause: null,
  result,
  error: null,
})

describe('settling', () => {
  it('sends in one statement what ended in one turn, and then what ended meanwhile', async () => {
    const first = Promise.withResolvers<void>()
    let statements = 0
    const { settler, sent } = settlerAnswering(async args => {
      if (++statements === 1) await first.promise
      return allAs('succeeded')(args)
    })
    const early = [1, 2, 3].map(id => settler.settle(settlement(id)))
    await expect.poll(() => sent.length).toBe(1)
    const late = [4, 5].map(id => settler.settle(settlement(id)))
    first.resolve()
    await Promise.all([...early, ...late])
    expect(sent.map(args => args.ids)).toEqual([
      ['1', '2', '3'],
      ['4', '5'],
    ])
  })

  it('bounds a statement in rows and in bytes', async () => {
    const { settler, sent } = settlerAnswering(allAs('succeeded'))
    const large = 'x'.repeat(1024 * 1024)
    const all = [
      ...Array.from({ length: 1200 }, (_, id) => settler.settle(settlement(id))),
      ...[1, 2, 3, 4, 5].map(id => settler.settle(settlement(5000 + id, large))),
    ]
    await Promise.all(all)
    expect(sent.map(args => args.ids.length)).toEqual([500, 500, 203, 2])
  })

  it('asks once more where a repeat is told lost: the first may have committed in between', async () => {
    const answers = ['ECONNRESET', 'lost', 'succeeded']
    const { settler, sent } = settlerAnswering(args => {
      const answer = answers.shift() ?? ''
      if (answer === 'ECONNRESET') throw Object.assign(new Error('reset'), { code: answer })
      return allAs(answer)(args)
    })
    expect(await settler.settle(settlement(1))).toBe('succeeded')
    expect(sent).toHaveLength(3)
  })

  it('believes lost where nothing was repeated', async () => {
    const { settler, sent } = settlerAnswering(allAs('lost'))
    expect(await settler.settle(settlement(1))).toBe('lost')
    expect(sent).toHaveLength(1)
  })

  it.each(['40P01', '40001', '55P03', '57014', 'CLIENT_TIMEOUT', '57P01', '08006'])(
    'sends the same again after %s (B015)',
    async code => {
      let faults = 3
      const { settler } = settlerAnswering(args => {
        if (faults-- > 0) throw Object.assign(new Error('again'), { code })
        return allAs('succeeded')(args)
      })
      expect(await settler.settle(settlement(1))).toBe('succeeded')
    },
  )

  it('abandons what cannot be stored when its time is over, and what comes after', async () => {
    const { settler } = settlerAnswering(() => {
      throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
    })
    const first = settler.settle(settlement(1))
    await settler.drain(0)
    expect(await first).toBe('abandoned')
    expect(await settler.settle(settlement(2))).toBe('abandoned')
  })

  it('waits for what is under way when it drains', async () => {
    const { settler } = settlerAnswering(allAs('succeeded'))
    const all = [1, 2, 3].map(id => settler.settle(settlement(id)))
    await settler.drain(10_000)
    expect(await Promise.all(all)).toEqual(['succeeded', 'succeeded', 'succeeded'])
  })
})
