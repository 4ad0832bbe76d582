#!/usr/bin/env node
import { existsSync } from 'node:fs'

// A clone runs its sources, whatever an earlier build has left in dist/; the package has the build alone.
const source = new URL('main.ts', import.meta.url)
await import(existsSync(source) ? source.href : new URL('../../dist/esm/cli.js', import.meta.url).href)
