import { createClient, type TaskQClient } from 'taskq-serverless/client'
import { sendReceipt } from './actors.ts'

/** One client for all invocations of an environment: it connects once, and survives being frozen. */
let taskq: Promise<TaskQClient> | undefined

/** A Lambda that enqueues. Checking out twice sends one receipt: the order is the job's key. */
export async function handler({ orderId }: { readonly orderId: string }) {
  taskq ??= createClient()
  return (await taskq).enqueue(sendReceipt, { orderId }, { idempotencyKey: orderId })
}
