import type { Pool } from 'pg'
import type { TaskQClient } from 'taskq-serverless/client'
import { sendReceipt } from '../shop/actors.ts'

/** Stores an order and the job that sends its receipt: both of them, or neither. */
export async function placeOrder(pool: Pool, taskq: TaskQClient, orderId: string): Promise<void> {
  const tx = await pool.connect()
  try {
    await tx.query('begin')
    await tx.query('insert into orders (id) values ($1)', [orderId])
    await taskq.enqueue(sendReceipt, { orderId }, { tx })
    await tx.query('commit')
  } catch (error) {
    await tx.query('rollback')
    throw error
  } finally {
    tx.release()
  }
}
