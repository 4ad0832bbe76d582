import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What `cdk synth` writes for one function with a rule and a trigger, as small as it can be. */
export function writeStack(options: {
  bundle: string
  variables?: Record<string, unknown>
  resources?: Record<string, unknown>
  timeout?: number
}): string {
  const folder = mkdtempSync(join(tmpdir(), 'taskq-fixture-'))
  const write = (file: string, content: unknown) => writeFileSync(join(folder, file), JSON.stringify(content))
  write('manifest.json', {
    artifacts: {
      'Local.assets': { type: 'cdk:asset-manifest', properties: { file: 'Local.assets.json' } },
      Local: { type: 'aws:cloudformation:stack', properties: { templateFile: 'Local.template.json' } },
    },
  })
  write('Local.assets.json', {
    files: {
      abc: {
        source: { path: 'asset.abc', packaging: 'zip' },
        destinations: { here: { objectKey: 'abc.zip' } },
      },
    },
  })
  mkdirSync(join(folder, 'asset.abc'))
  writeFileSync(join(folder, 'asset.abc', 'index.mjs'), options.bundle)
  const names = ['{"made_up_sweep":"', { Ref: 'Sweep1A2B' }, '"}']
  write('Local.template.json', {
    Resources: { ...resourcesOf(options), ...options.resources },
    Outputs: { TaskQFunctionNames: { Value: { 'Fn::Join': ['', names] } } },
  })
  return folder
}

function resourcesOf({
  variables = {},
  timeout = 60,
}: {
  variables?: Record<string, unknown>
  timeout?: number
}) {
  return {
    Sweep1A2B: {
      Type: 'AWS::Lambda::Function',
      Properties: {
        FunctionName: { 'Fn::Sub': `\${AWS::StackName}-made_up_sweep` },
        Code: { S3Bucket: { 'Fn::Sub': `cdk-\${AWS::AccountId}-\${AWS::Region}` }, S3Key: 'abc.zip' },
        Handler: 'index.handler',
        Timeout: timeout,
        MemorySize: 256,
        Environment: { Variables: variables },
      },
    },
    SweepRule: {
      Type: 'AWS::Events::Rule',
      Properties: {
        ScheduleExpression: 'rate(1 minute)',
        State: 'ENABLED',
        Targets: [{ Id: 'Target0', Arn: { 'Fn::GetAtt': ['Sweep1A2B', 'Arn'] } }],
      },
    },
    SweepVersion: { Type: 'AWS::Lambda::Version', Properties: { FunctionName: { Ref: 'Sweep1A2B' } } },
    Trigger: { Type: 'Custom::Trigger', Properties: { HandlerArn: { Ref: 'SweepVersion' } } },
  }
}
