import { createClient, type TaskQClient } from 'taskq-serverless/client'
import { sendReceipt } from './actors.ts'

/** One client for all invocations of an environment: it connects once, and survives being frozen. */
let taskq: Promise<TaskQClient> | undefined

/** A Lambda that enqueues. Checking out twice sends one receipt: the order is its key, among receipts. */
export async function handler({ orderId }: { readonly orderId: string }) {
  taskq ??= createClient()
  const once = { idempotencyScope: 'receipt', idempotencyKey: orderId }
  return (await taskq).enqueue(sendReceipt, { orderId }, once)
}
