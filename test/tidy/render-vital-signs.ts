import type { Watch } from '../../shared/sweeper/vital-signs.ts'
import { mark, table } from './render-docs.ts'

/** The page of the watcher and all its gauges, docs/vital-signs.md. */
export function renderVitalSignsPage(watched: Watch): string {
  const rows = watched.metrics.map(({ name, unit, doc, always }) => [
    `\`${name}\``,
    unit.toLowerCase(),
    always ? 'always' : 'when not zero',
    doc,
  ])
  return `${mark('shared/sweeper/gauges/*.ts')}

# Vital signs

${watched.why.replaceAll(/\s+/g, ' ')}

Each gauge is a metric in the namespace \`TaskQ\`, with the one dimension \`Schema\`. A gauge without a value,
because there is nothing to measure or it cannot be known, is absent and never 0. What it is about, the worst
first and at most 50, stands in the function's line of the log.

${table(['metric', 'unit', 'published', 'what it says'], rows)}

By hand, \`taskq run ${watched.purpose}\` reads them and publishes nothing; \`taskq status\` says how each
function, queue, schedule and worker is. Where other logins use the server, their sessions are hidden from
this one, and with them who holds the oldest snapshot: \`grant pg_read_all_stats\` to the login of the
scheduled functions shows them.

## What the status means

\`taskq status\` and a worker's \`health()\` answer the same object.

- \`healthy\` is false where a queue, or a schedule, has let a job wait for its first claim longer than its
  \`max_unclaimed_age\` (15 minutes for a queue without a row), or where that cannot be read. A schedule's
  jobs count for it alone, and what waits in a paused queue for nobody. A job that supersedes others that
  nobody ever claimed waits since the first of them was due, and neither a retry nor a redrive makes a job
  younger. \`healthy\` of a worker's \`health()\` is false as well while its own heartbeats or claims fail.
- \`degraded\` is information, and no reason to end a process: a function's last success is older than three
  of its cadences (30 hours for a daily one), its breaker has latched, or it has rows set aside; a schedule
  was switched off because its fires failed, or is put off, such as while its actor takes no more. A function
  that has never run, or is switched off, says so and is not degraded: who migrates by hand may have no
  functions. \`SweepsStale\` does count it, from its installation, because where this is published functions
  are meant to run.
- A part that this login may not read is null, and a reason says so.
`
}
