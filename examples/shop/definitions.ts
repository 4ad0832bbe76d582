import { sendReceipt } from './actors.ts'
import { bill, dailyPost, monthlyInvoice, writePost } from './schedules.ts'

/** What the stack's `definitions` stores at every deployment. */
export const actors = [sendReceipt, writePost, bill]
export const schedules = [dailyPost, monthlyInvoice]
