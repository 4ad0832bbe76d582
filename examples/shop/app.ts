import { App } from 'aws-cdk-lib'
import { QueueStack, ShopStack } from './stacks.ts'

const app = new App()
const { queue } = new QueueStack(app, 'Queue')
new ShopStack(app, 'Shop', { queue })
