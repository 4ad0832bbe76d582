import type { Duration } from '../../shared/core/durations.ts'
import type { TaskQClient } from '../entry/client.ts'
import { receiveWebhook, webhookOf } from './webhook-jobs.ts'

/** A stream of jobs that goes on until it is stopped. */
export interface JobStream {
  readonly enqueued: number
  /** Enqueues no more, and waits for what is under way. */
  stop(): Promise<void>
}

const pauseMs = 250
/** Every so many-th job is due later, and every so many-th fails first: so all functions find work. */
const delayedEvery = 7
const failingEvery = 11
const delays: readonly Duration[] = ['2s', '5s', '10s', '20s']

/** Enqueues one webhook after another, as they would come in. */
export function startJobStream(client: TaskQClient, onTrouble: (text: string) => void): JobStream {
  const stopped = new AbortController()
  let enqueued = 0

  const enqueueNext = async (number: number) => {
    const delay = number % delayedEvery === 0 ? delays[(number / delayedEvery) % delays.length] : undefined
    const payload = webhookOf(number, number % failingEvery === 0 ? 1 : 0)
    try {
      await client.enqueue(receiveWebhook, payload, delay === undefined ? {} : { delay })
      enqueued++
    } catch (error) {
      onTrouble(`enqueue: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  const flow = async () => {
    for (let number = 1; !stopped.signal.aborted; number++) {
      await enqueueNext(number)
      await pause(pauseMs, stopped.signal)
    }
  }

  const flowing = flow()
  return {
    get enqueued() {
      return enqueued
    },
    stop: () => {
      stopped.abort()
      return flowing
    },
  }
}

/** Waits, or returns at once when told to stop. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}
