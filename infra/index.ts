export type { SettingsProps } from './environment.ts'
export { TaskQ, type TaskQProps } from './taskq.ts'
