import { CompiledQuery, type Kysely, type Transaction } from 'kysely'
import type { TaskQClient } from 'taskq-serverless/client'
import { sendReceipt } from '../shop/actors.ts'

interface Tables {
  orders: { id: string }
}

/** Stores an order and the job that sends its receipt: both of them, or neither. */
export async function placeOrder(db: Kysely<Tables>, taskq: TaskQClient, orderId: string): Promise<void> {
  await db.transaction().execute(async tx => {
    await tx.insertInto('orders').values({ id: orderId }).execute()
    await taskq.enqueue(sendReceipt, { orderId }, { tx: runnerOf(tx) })
  })
}

/** A transaction of Kysely's, as TaskQ asks for one. */
function runnerOf<Tables>(tx: Transaction<Tables>) {
  return {
    query: (text: string, values: unknown[]) => tx.executeQuery(CompiledQuery.raw(text, values)),
  }
}
