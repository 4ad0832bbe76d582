import { inject } from 'vitest'
import { useNeonProxy } from './use-neon-proxy.ts'

// The driver keeps its settings in the process, and each test file has one of its own.
useNeonProxy(inject('way').neonProxy)
