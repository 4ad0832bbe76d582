import { parseSync } from 'vite'
import type { SourceFile } from './tree.ts'

/** A node of the syntax tree: ESTree with TypeScript's own nodes, read loosely, since few kinds matter. */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

export interface Comment {
  readonly value: string
  readonly start: number
}

/** What the rules need to know of a TypeScript file. */
export interface Syntax {
  /** Every node, parents before children. */
  readonly nodes: readonly Node[]
  readonly comments: readonly Comment[]
  /** The specifiers of every import and export-from: static, dynamic, and inline in types. */
  readonly imports: readonly string[]
}

const parsed = new WeakMap<SourceFile, Syntax>()

/** Parses a TypeScript file once. A file that does not parse throws: it would pass every rule unread. */
export function syntaxOf(file: SourceFile): Syntax {
  const kept = parsed.get(file)
  if (kept !== undefined) return kept
  const result = parseSync(file.path, file.text)
  if (result.errors.length > 0) throw new Error(`${file.path}: ${result.errors[0]?.message}`)
  const nodes = flatten(result.program as unknown as Node)
  const syntax = { nodes, comments: result.comments, imports: nodes.flatMap(importOf) }
  parsed.set(file, syntax)
  return syntax
}

/** The nodes of some kinds. */
export function nodesOf(file: SourceFile, ...types: readonly string[]): Node[] {
  return syntaxOf(file).nodes.filter(node => types.includes(node.type))
}

/** The source text of a node. */
export function textOf(file: SourceFile, node: unknown): string {
  return isNode(node) ? file.text.slice(node.start, node.end) : ''
}

/** The line, from 1, of a position. */
export function lineAt(file: SourceFile, position: number): number {
  return file.text.slice(0, position).split('\n').length
}

/** The value of a literal, or undefined. */
export function literalOf(node: unknown): unknown {
  return isNode(node) && node.type === 'Literal' ? node['value'] : undefined
}

export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string'
}

function flatten(node: Node): Node[] {
  const children = Object.values(node).flat().filter(isNode)
  return [node, ...children.flatMap(flatten)]
}

function importOf(node: Node): string[] {
  const kinds = [
    'ImportDeclaration',
    'ExportNamedDeclaration',
    'ExportAllDeclaration',
    'ImportExpression',
    'TSImportType',
  ]
  const specifier = kinds.includes(node.type) ? literalOf(node['source']) : undefined
  return typeof specifier === 'string' ? [specifier] : []
}
