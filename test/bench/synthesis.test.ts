import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const secondsMax = 15

test(`npm run synth takes at most ${secondsMax} s, without a network`, () => {
  const beganMs = performance.now()
  execFileSync('npm', ['run', '--silent', 'synth'], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    stdio: 'pipe',
  })
  const seconds = (performance.now() - beganMs) / 1000
  process.stdout.write(`npm run synth: ${seconds.toFixed(1)} s\n`)
  expect(seconds).toBeLessThanOrEqual(secondsMax)
})
