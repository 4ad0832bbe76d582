import { inject } from 'vitest'
import { useNeonProxy } from './use-neon-proxy.ts'

// Before each test file of the mode: the driver's settings are its process'.
useNeonProxy(inject('way').neonProxy)
