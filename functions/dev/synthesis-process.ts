/** Synthesizes the repository's stack into a folder: `node synthesis-process.ts FOLDER CONTEXT`. */
const { synthesize } = await import('../../infra/synthesis.ts')
const [outdir = '', context = '{}'] = process.argv.slice(2)

try {
  await synthesize({ outdir, context: JSON.parse(context) })
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
