import { drizzle } from 'drizzle-orm/node-postgres'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { createClient } from 'taskq-serverless/client'
import { placeOrder as withDrizzle } from '../../../examples/transactions/with-drizzle.ts'
import { placeOrder as withKysely } from '../../../examples/transactions/with-kysely.ts'
import { placeOrder as withPg } from '../../../examples/transactions/with-pg.ts'

/** Places an order by each way, and the same once more; prints what is stored. */
const pool = new pg.Pool({ connectionString: process.argv[2] })
const taskq = await createClient()
const kysely = new Kysely<{ orders: { id: string } }>({ dialect: new PostgresDialect({ pool }) })
const ways = {
  pg: (orderId: string) => withPg(pool, taskq, orderId),
  drizzle: (orderId: string) => withDrizzle(drizzle(pool), taskq, orderId),
  kysely: (orderId: string) => withKysely(kysely, taskq, orderId),
}

// Told only at the commit, so that a second order is refused after its job was stored.
await pool.query('create table orders (id uuid primary key deferrable initially deferred)')
const stored = async () => {
  const { rows } = await pool.query(`select
    (select count(*)::int from orders) as orders, (select count(*)::int from taskq.jobs) as jobs`)
  return rows[0]
}
const report: Record<string, unknown> = {}
for (const [way, placeOrder] of Object.entries(ways)) {
  const orderId = crypto.randomUUID()
  await placeOrder(orderId)
  const once = await stored()
  const again = await placeOrder(orderId).catch((error: pg.DatabaseError & { cause?: pg.DatabaseError }) => {
    return (error.cause ?? error).code
  })
  report[way] = { once, again, twice: await stored() }
}
await taskq.close()
await pool.end()
process.stdout.write(JSON.stringify(report))
