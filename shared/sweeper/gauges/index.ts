import type { Gauge, GaugeMetric } from '../gauge.ts'
import { backlogGauges } from './backlog.ts'
import { databaseGauges } from './database.ts'
import { feedGauges } from './feed.ts'
import { functionGauges } from './functions.ts'
import { runningGauges } from './running.ts'
import { scheduleGauges } from './schedules.ts'

/** Every gauge, in the order in which they are read: first what a silence of the watcher would hide. */
export const gauges: readonly Gauge[] = [
  ...functionGauges,
  ...backlogGauges,
  ...runningGauges,
  ...scheduleGauges,
  ...databaseGauges,
  ...feedGauges,
]

/** Counts the gauges that could not be read; no statement asks for it. */
export const gaugeReadFailed: GaugeMetric = {
  name: 'GaugeReadFailed',
  unit: 'Count',
  doc: 'gauges that could not be read in this run, and are absent from it',
}
