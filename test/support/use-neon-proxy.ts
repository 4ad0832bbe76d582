import { neonConfig } from '@neondatabase/serverless'

/** Sends Neon's driver to a local stand-in, without TLS, and lets it log in as that server wants it. */
export function useNeonProxy(origin: string | undefined): void {
  if (origin === undefined) return
  neonConfig.wsProxy = (host, port) => `${origin}/v1?address=${host}:${port}`
  neonConfig.fetchEndpoint = `http://${origin}/sql`
  neonConfig.useSecureWebSocket = false
  neonConfig.pipelineTLS = false
  // The driver's short cut sends the password in the clear, unasked; only Neon's servers ask for it so.
  neonConfig.pipelineConnect = false
}
