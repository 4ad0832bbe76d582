export type { DatabaseRole } from './database-secrets.ts'
export type { SettingsProps } from './environment.ts'
export { type AddWorkerProps, type AttachWorkerProps, TaskQ, type TaskQProps } from './taskq.ts'
