import { untilAnswered } from '../../functions/dev/kept-process.ts'

/** Starts Postgres in a container of this image, by way of testcontainers, with settings as in its file. */
export async function startContainer(
  image = 'postgres:18',
  settings: Readonly<Record<string, string>> = {},
): Promise<{ url: string; stop(): Promise<void> }> {
  // Late, because only this mode needs it and loading it takes a second.
  const { GenericContainer } = await import('testcontainers')
  const password = 'only-in-this-container'
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const container = await new GenericContainer(image)
    .withEnvironment({ POSTGRES_PASSWORD: password })
    .withExposedPorts(5432)
    .withCommand(['postgres', ...flags])
    .start()
  const stop = async () => void (await container.stop())
  const place = `${container.getHost()}:${container.getMappedPort(5432)}`
  const url = `postgres://postgres:${password}@${place}/postgres`
  try {
    // While the image sets its data up, a server of its own listens inside the container alone.
    let triesLeft = 3000
    await untilAnswered(url, () => triesLeft-- > 0)
    return { url, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
