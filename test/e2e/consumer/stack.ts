import { App, Stack } from 'aws-cdk-lib'
import { TaskQ } from 'taskq-serverless/infra'

const app = new App({ outdir: process.argv[2] ?? 'cdk.out' })
new TaskQ(new Stack(app, 'Queue'), 'TaskQ', {
  databaseSecret: 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:database-AbCdEf',
})
process.stdout.write(JSON.stringify(app.synth().getStackByName('Queue').template))
