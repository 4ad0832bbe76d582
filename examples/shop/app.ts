import { App } from 'aws-cdk-lib'
import { MailroomStack, QueueStack, ShopStack } from './stacks.ts'

const app = new App()
const { queue } = new QueueStack(app, 'Queue')
new ShopStack(app, 'Shop', { queue })
new MailroomStack(app, 'Mailroom', { queue })
