/** What the worker's process does with its jobs: works them off, or holds them for ever. */
export type WorkerMode = 'work' | 'hold'

/** To the worker's process: begin the soft stop. */
export type ToWorker = 'stop'

/** From the worker's process: it claims; a handler has done its work; it had trouble that it outlives. */
export type FromWorker =
  | { readonly type: 'ready' }
  | { readonly type: 'handled'; readonly id: string; readonly attempt: number }
  | { readonly type: 'trouble'; readonly during: string; readonly message: string }
