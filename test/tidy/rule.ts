import { lineAt, type Node } from './syntax.ts'
import type { SourceFile } from './tree.ts'

/** One place that breaks a rule. */
export interface Offence {
  readonly line: number
  readonly what: string
}

/** A made-up file. */
export interface Example {
  readonly path: string
  readonly text: string
}

/** A habit of the house that a machine can hold, with the examples that prove it able to. */
export interface Rule {
  /** The rule, as a sentence. */
  readonly holds: string
  /** What an offender does instead. */
  readonly instead: string
  /** Which files the rule reads. */
  readonly reads: (path: string) => boolean
  readonly offences: (file: SourceFile) => readonly Offence[]
  /** Breaks the rule on exactly these lines. */
  readonly planted: Example & { readonly lines: readonly number[] }
  /** Looks like an offence and is none. */
  readonly lookAlike: Example
}

export const isTypeScript = (path: string) => path.endsWith('.ts')
export const isProduct = (path: string) => isTypeScript(path) && /^(shared|functions|infra)\//.test(path)
export const isTest = (path: string) => isTypeScript(path) && path.startsWith('test/')
export const isMarkdown = (path: string) => path.endsWith('.md')

/** The rules spell what they forbid, so the textual ones do not read their own folder. */
export const isRule = (path: string) => path.startsWith('test/tidy/rules/')

export const isText = (path: string) =>
  /\.(ts|mjs|sql|md|json|ya?ml|sh)$/.test(path) && path !== 'package-lock.json'

/** An offence at a node. */
export function at(file: SourceFile, node: Node, what: string): Offence {
  return { line: lineAt(file, node.start), what }
}

/** An offence for each line that matches. */
export function linesMatching(file: SourceFile, pattern: RegExp): Offence[] {
  return file.text
    .split('\n')
    .flatMap((text, index) =>
      pattern.test(text) ? [{ line: index + 1, what: text.trim().slice(0, 100) }] : [],
    )
}
