import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { defineActor } from '../../../shared/client/define-actor.ts'
import { actorsIn } from '../../../shared/client/definitions.ts'

const send = defineActor({ name: 'send', payload: z.any() })
const print = defineActor({ name: 'print', payload: z.any() })

/** Where a definitions module was refused. */
function fieldOf(definitions: unknown): unknown {
  try {
    return actorsIn(definitions)
  } catch (error) {
    expect(error).toMatchObject({ code: 'OPTION_INVALID' })
    return (error as { field: string }).field
  }
}

describe('a definitions module', () => {
  it('exports its actors as an array or as an object', () => {
    expect(actorsIn({ actors: [send, print] })).toEqual([send, print])
    expect(actorsIn({ actors: { send, print }, other: 1 })).toEqual([send, print])
    expect(actorsIn({ actors: [] })).toEqual([])
  })

  it.each([
    [undefined, 'actors'],
    [{}, 'actors'],
    [{ default: { actors: [send] } }, 'actors'],
    [{ actors: 'send' }, 'actors'],
    [{ actors: [send, null] }, 'actors[1]'],
    [{ actors: { send: () => send } }, 'actors.send'],
    [{ actors: [{ name: 'send', queue: 'default' }] }, 'actors[0]'],
    [{ actors: [send.run(() => 1)] }, 'actors[0]'],
    [{ actors: { send, again: { ...send } } }, 'actors.again'],
  ])('is refused where it holds something else: %o', (definitions, field) => {
    expect(fieldOf(definitions)).toBe(field)
  })

  it('says of an actor with a handler that the definition is wanted, and of a name who has it', () => {
    expect(() => actorsIn({ actors: [send.run(() => 1)] })).toThrow('what defineActor returned')
    expect(() => actorsIn({ actors: [print, send, send] })).toThrow('named "send", as actors[1] is')
  })
})
