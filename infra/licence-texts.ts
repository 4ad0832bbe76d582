import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly author?: string | { readonly name: string }
}

/**
 * The licences of the packages that a build carried inside, of which every one asks to travel with the code.
 * `inputs` are the build's files, from the project's folder.
 */
export function licenceTexts(projectFolder: string, inputs: readonly string[]): string {
  const folders = inputs.flatMap(path => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [])
  return [...new Set(folders)]
    .sort()
    .map(folder => licenceText(join(projectFolder, folder)))
    .join('\n')
}

function licenceText(folder: string): string {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
  const { name, version, license = 'of unknown licence', author } = manifest
  const file = readdirSync(folder).find(each => /^licen[cs]e/i.test(each))
  // Some packages say their licence in package.json alone.
  const by = typeof author === 'object' ? author.name : (author ?? 'its contributors')
  const text = file === undefined ? `Copyright (c) ${by}\n` : readFileSync(join(folder, file), 'utf8')
  return `==== ${name} ${version} (${license})\n\n${text}`
}
