import type { TaskQError } from '../../shared/core/errors.ts'
import type { Answer } from './answer.ts'
import { printable } from './printable.ts'

/** Nobody reads faster, and a terminal is slow. */
const redrawMs = 100

/**
 * Where a command's words go. For people: the answer and what happens meanwhile on stdout. With `--json`:
 * one object on stdout and everything else on stderr. A line that is written over again and again is for a
 * terminal alone; a pipe gets none of it. People get each line {@link printable}.
 */
export class Output {
  readonly #isJson: boolean
  #live = ''
  #drawnMs = Number.NEGATIVE_INFINITY

  constructor(isJson: boolean) {
    this.#isJson = isJson
  }

  /** One line about something that happened. */
  line(text: string): void {
    this.#clear()
    const stream = this.#isJson ? process.stderr : process.stdout
    stream.write(`${printable(text)}\n`)
    this.#draw()
  }

  /** A remark that is no part of the result. */
  note(text: string): void {
    this.#clear()
    process.stderr.write(`${printable(text)}\n`)
    this.#draw()
  }

  /** The state of long work, in one line that replaces the one before; the empty text removes it. */
  live(text: string): void {
    if (!process.stderr.isTTY) return
    const nowMs = performance.now()
    if (text !== '' && nowMs - this.#drawnMs < redrawMs) return
    this.#drawnMs = nowMs
    this.#clear()
    this.#live = printable(text).slice(0, Math.max(0, (process.stderr.columns || 80) - 1))
    this.#draw()
  }

  answer({ json, text }: Answer): void {
    this.live('')
    const lines = text === '' ? [] : [text].flat()
    if (this.#isJson) process.stdout.write(`${JSON.stringify(json)}\n`)
    else process.stdout.write(lines.map(line => `${printable(line)}\n`).join(''))
  }

  /** The error for people on stderr; with `--json` also as the object on stdout that a script waits for. */
  error(verb: string, error: TaskQError): void {
    this.live('')
    const { code, field, message } = error
    // What a child process said has many lines. Indented, none looks like one of ours.
    const said = message.split('\n').map(printable).join('\n  ')
    process.stderr.write(`${['taskq', printable(verb)].join(' ').trim()}: ${code}: ${said}\n`)
    if (this.#isJson) process.stdout.write(`${JSON.stringify({ error: { code, field, message } })}\n`)
  }

  #clear(): void {
    if (this.#live !== '') process.stderr.write('\r\u001b[K')
  }

  #draw(): void {
    if (this.#live !== '') process.stderr.write(this.#live)
  }
}
