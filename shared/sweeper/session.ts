import type { Connection } from '../sql/connection.ts'

/** The connection of an invocation: closed for long sleeps, and replaced where a timeout ended it. */
export interface Session {
  connection: Connection
  /**
   * An instant, by the database's clock, before the last drain began. What fell due since then and is still
   * there is asked about: it may have come between the drain's last window and the question.
   */
  lookedAt?: string
  /** Opens another connection. */
  readonly connect: () => Promise<Connection>
}

/** Sees to it that the session has a connection that works. */
export async function revive(session: Session): Promise<void> {
  if (session.connection.usable) return
  await session.connection.close()
  session.connection = await session.connect()
}
