import { expect, test } from 'vitest'
import { startPostgres } from '../../functions/dev/postgres-server.ts'
import { useFolder } from './own-folder.ts'

const folder = useFolder()

test('a server that cannot start says why, and leaves nothing', async () => {
  const starting = startPostgres({ parent: folder().path, settings: { shared_buffers: 'nonsense' } })
  await expect(starting).rejects.toThrow('invalid value for parameter "shared_buffers"')
  expect(folder().contents()).toEqual([])
})

test('a server that is stopped leaves nothing', async () => {
  const server = await startPostgres({ parent: folder().path })
  expect(folder().contents()).toHaveLength(1)
  await server.stop()
  expect(folder().contents()).toEqual([])
})
