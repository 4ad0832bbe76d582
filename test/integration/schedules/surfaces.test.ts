import { beforeEach, describe, expect, it } from 'vitest'
import { readArguments } from '../../../functions/cli/arguments.ts'
import { Output } from '../../../functions/cli/output.ts'
import type { Call } from '../../../functions/cli/verb.ts'
import { verbNamed } from '../../../functions/cli/verb-named.ts'
import { verbs } from '../../../functions/cli/verbs/index.ts'
import { defineSchedule } from '../../../functions/entry/client.ts'
import { isTaskQError } from '../../../shared/core/errors.ts'
import { syncDefinitions } from '../../../shared/schedules/verbs/sync-definitions.ts'
import { codeOf } from '../../../shared/sql/failures.ts'
import { dailyDeliverable, dailyIntent, post, useSchedules } from '../../support/schedule-verbs.ts'
import { addSchedule } from '../../support/schedules.ts'
import { settingsWith } from '../../support/sweeping.ts'

const { database, schedules, rowOf } = useSchedules()

interface Cell {
  readonly shape: 'intent' | 'deliverable' | 'both' | 'none'
  readonly missed?: string
  readonly onOpen?: string
}

const cells: Cell[] = (['intent', 'deliverable', 'both', 'none'] as const).flatMap(shape =>
  ['latest', 'skip', 'all', undefined].flatMap(missed =>
    ['supersede', 'skip', 'add', undefined].map(onOpen => ({
      shape,
      ...(missed !== undefined && { missed }),
      ...(onOpen !== undefined && { onOpen }),
    })),
  ),
)

const legal: Cell[] = [
  ...['latest', 'skip'].flatMap(missed =>
    ['supersede', 'skip'].map(onOpen => ({ shape: 'intent' as const, missed, onOpen })),
  ),
  { shape: 'deliverable' },
]

const { intent: _, ...unanswered } = dailyIntent

/** A cell in the words of JavaScript. */
function optionsOf({ shape, ...answers }: Cell): object {
  if (shape === 'intent') return { ...unanswered, intent: answers }
  if (shape === 'deliverable') return { ...unanswered, deliverable: answers }
  return { ...unanswered, ...(shape === 'both' ? { intent: answers, deliverable: {} } : answers) }
}

/** The cells that a surface takes; every other one it refuses as the caller's own mistake. */
async function takenBy(surface: (cell: Cell) => unknown): Promise<Cell[]> {
  const taken: Cell[] = []
  for (const cell of cells) {
    try {
      await surface(cell)
      taken.push(cell)
    } catch (error) {
      const isRefusal = isTaskQError(error) ? error.code === 'OPTION_INVALID' : codeOf(error) === '23514'
      if (!isRefusal) throw error
    }
  }
  return taken
}

const clear = () => database().rows('delete from taskq.schedules')
const stored = async () => (await database().rows('select from taskq.schedules')).length

/** What a command does, in this process. */
async function command(...argv: string[]) {
  const verb = verbNamed(verbs, argv)
  if (verb === undefined) throw new Error(`${argv.join(' ')}: there is no such verb`)
  const { words, flags } = readArguments(verb, argv.slice(verb.name.split(' ').length))
  const call: Call = {
    words,
    text: flag => (typeof flags[flag] === 'string' ? flags[flag] : undefined),
    has: flag => flags[flag] === true,
    environment: {},
    settings: settingsWith(database().settings),
    signal: new AbortController().signal,
    output: new Output(true),
  }
  return verb.run(call)
}

/** A cell as flags. */
const flagsOf = ({ shape, missed, onOpen }: Cell) => [
  ...(shape === 'deliverable' || shape === 'both' ? ['--deliverable'] : []),
  ...(missed === undefined ? [] : ['--missed', missed]),
  ...(onOpen === undefined ? [] : ['--on-open', onOpen]),
]

describe('a schedule that does not say what a missed run means', () => {
  beforeEach(() => database().rows(`insert into taskq.actors (actor) values ('post')`))

  it('can be in 64 cells, of which five are legal', () => {
    expect([cells.length, legal.length]).toEqual([64, 5])
  })

  it('is no definition', async () => {
    expect(await takenBy(cell => defineSchedule(optionsOf(cell) as never))).toEqual(legal)
  })

  it('is not created by the client', async () => {
    const taskq = await schedules()
    const create = async (cell: Cell) => {
      await taskq.create(optionsOf(cell) as never)
      expect(await stored()).toBe(1)
      await clear()
    }
    expect(await takenBy(create)).toEqual(legal)
    expect(await stored()).toBe(0)
  })

  it('is not made by an edit, which says nothing or all', async () => {
    const taskq = await schedules()
    await taskq.create(dailyDeliverable)
    const edit = (cell: Cell) => {
      const { name: _name, ...changes } = optionsOf(cell) as typeof dailyIntent
      return taskq.edit('daily', changes)
    }
    expect(await takenBy(edit)).toEqual([...legal, { shape: 'none' }])
    expect(await rowOf()).toMatchObject({ shape: 'deliverable', missed: 'all', on_open: 'add' })
  })

  it('is not created by the command', async () => {
    const create = async (cell: Cell) => {
      const terms = ['--actor', 'post', '--cron', '@daily', '--payload', '{"n":1}']
      await command('schedules', 'create', 'daily', ...terms, ...flagsOf(cell))
      await clear()
    }
    // The command has no word for an intent but its two answers, so that some cells are said alike.
    const said = (cell: Cell) => flagsOf(cell).join(' ')
    const legalWords = legal.map(said)
    expect(await takenBy(create)).toEqual(cells.filter(cell => legalWords.includes(said(cell))))
  })

  it('is not stored by a sync', async () => {
    const sync = async (cell: Cell) => {
      const definitions = { actors: [post], schedules: [optionsOf(cell)] }
      await syncDefinitions(await database().connect(), definitions, settingsWith(), 'ada')
      await clear()
    }
    expect(await takenBy(sync)).toEqual(legal)
  })

  it('is not even inserted by hand', async () => {
    const text = (word: string | undefined) => (word === undefined ? 'null' : `'${word}'`)
    const insert = async ({ shape, missed, onOpen }: Cell) => {
      const columns = { shape: text(shape), missed: text(missed), on_open: text(onOpen) }
      await addSchedule(database(), columns)
    }
    expect(await takenBy(insert)).toEqual([
      ...legal.filter(({ shape }) => shape === 'intent'),
      { shape: 'deliverable', missed: 'all', onOpen: 'add' },
    ])
    const nameless = addSchedule(database(), { shape: 'null', missed: 'null', on_open: 'null' })
    await expect(nameless).rejects.toMatchObject({ code: '23514' })
  })
})
