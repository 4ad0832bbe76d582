import { vi } from 'vitest'

/** Every line that a call writes to the standard output or the standard error. */
export function printed(call: () => void): string[] {
  const chunks: string[] = []
  const spies = [process.stdout, process.stderr].map(stream =>
    vi.spyOn(stream, 'write').mockImplementation(chunk => {
      chunks.push(String(chunk))
      return true
    }),
  )
  try {
    call()
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
  return chunks.join('').split('\n').filter(Boolean)
}
