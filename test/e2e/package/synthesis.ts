import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bundledFunctions, openBundles } from '../../../infra/bundle-folders.ts'
import { type Consumer, consumerFiles } from '../../support/consumer.ts'

interface Template {
  readonly Resources: Readonly<
    Record<string, { readonly Type: string; readonly Properties?: { readonly Description?: string } }>
  >
}

/** What the construct does in a project that has the CDK and nothing to bundle with. */
export function synthesizes(consumer: Consumer): void {
  test('a stack is synthesized without esbuild and Docker, on either Node the same', async () => {
    expect(existsSync(join(consumer.folder, 'node_modules/esbuild'))).toBe(false)
    const stack = join(consumerFiles, 'stack.ts')
    const synthesized = Object.values(consumer.nodes).map(async node => {
      // No program can be found but by its path.
      const text = await consumer.run(node, [stack, consumer.aside()], { PATH: '' })
      return JSON.parse(text) as Template
    })
    const [first, second, ...more] = await Promise.all(synthesized)
    expect(more).toEqual([])
    expect(second).toEqual(first)
    const functions = Object.values(first?.Resources ?? {}).filter(({ Type, Properties }) => {
      return Type === 'AWS::Lambda::Function' && Properties?.Description?.startsWith('TaskQ: ')
    })
    // This stack has no definitions to store.
    expect(functions).toHaveLength(bundledFunctions.length - Object.keys(openBundles).length)
  })
}
