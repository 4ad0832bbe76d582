export type { DatabaseRole } from '../shared/core/names.ts'
export type { SettingsProps } from './environment.ts'
export { type AddWorkerProps, type AttachWorkerProps, TaskQ, type TaskQProps } from './taskq.ts'
