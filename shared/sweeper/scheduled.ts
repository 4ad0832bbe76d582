import type { Settings } from '../core/read-settings.ts'

/** What every function that a rule starts says of itself, whether it moves rows or only watches. */
export interface Scheduled {
  /** The one name, in snake_case: of file, lock, function, alarm, command and runbook. */
  readonly purpose: string
  /** What becomes true, as a verb phrase. */
  readonly title: string
  /** One paragraph: why it exists and why it is as it is. */
  readonly why: string
  /** Minutes between two starts by its rule. */
  readonly cadenceMinutes: number
}

/** A function as whoever watches it knows it. */
export interface Expected {
  readonly purpose: string
  readonly cadenceMinutes: number
  /** Older than this, its last success is a fault. */
  readonly staleAfterSeconds: number
  /** Whether a setting switches it off: nobody expects it to run. */
  readonly isOff: boolean
}

/** A function may miss so many starts; one of every day gets a quarter of a day more instead. */
const cadencesMax = 3
const dayMinutes = 1440
const dailySeconds = 30 * 3600

/** What the watchers expect of the functions that keep a state, under these settings. */
export function expectedOf(
  sweeps: readonly (Scheduled & { readonly offAtZero: keyof Settings | null })[],
  settings: Settings,
): Expected[] {
  return sweeps.map(({ purpose, cadenceMinutes, offAtZero }) => ({
    purpose,
    cadenceMinutes,
    staleAfterSeconds: cadenceMinutes >= dayMinutes ? dailySeconds : cadencesMax * cadenceMinutes * 60,
    isOff: settings.functionsOff.includes(purpose) || (offAtZero !== null && settings[offAtZero] === 0),
  }))
}
