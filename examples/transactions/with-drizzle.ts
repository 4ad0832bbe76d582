import { sql } from 'drizzle-orm'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import { pgTable, uuid } from 'drizzle-orm/pg-core'
import type { TaskQClient } from 'taskq-serverless/client'
import { sendReceipt } from '../shop/actors.ts'

const orders = pgTable('orders', { id: uuid().primaryKey() })

/** Stores an order and the job that sends its receipt: both of them, or neither. */
export async function placeOrder(db: NodePgDatabase, taskq: TaskQClient, orderId: string): Promise<void> {
  await db.transaction(async tx => {
    await tx.insert(orders).values({ id: orderId })
    await taskq.enqueue(sendReceipt, { orderId }, { tx: runnerOf(tx) })
  })
}

/** A transaction of Drizzle's, as TaskQ asks for one. Drizzle numbers the parameters itself. */
function runnerOf(tx: Pick<NodePgDatabase, 'execute'>) {
  return {
    query: (text: string, values: unknown[]) => {
      const parts = text.split(/\$(\d+)/).map((part, index) => {
        return index % 2 === 0 ? sql.raw(part) : sql`${sql.param(values[Number(part) - 1])}`
      })
      return tx.execute(sql.join(parts))
    },
  }
}
