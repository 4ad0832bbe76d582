import { interfaceActions } from './network.ts'

/** Sending traces knows no resource, either. */
const traceActions = ['xray:PutTraceSegments', 'xray:PutTelemetryRecords']

/**
 * What every template of ours must hold, in the language of CloudFormation Guard; CDK's own validation reads
 * them along with its rules, and a template that breaks one is not synthesized. Only actions for which no
 * resource can be named may be allowed on all of them.
 */
export const guardRules = `
let asynchronous = Resources.*[ Type == 'AWS::Lambda::EventInvokeConfig' ]
rule no_second_try when %asynchronous !empty {
  %asynchronous.Properties.MaximumRetryAttempts == 0 <<the next event is the retry: retryAttempts is 0>>
  %asynchronous.Properties.MaximumEventAgeInSeconds == 60 <<a stale event is dropped: maxEventAge is 60 s>>
}

let rules = Resources.*[ Type == 'AWS::Events::Rule' ]
rule no_late_start when %rules !empty {
  %rules.Properties.Targets[*] {
    RetryPolicy.MaximumRetryAttempts == 0 <<the next minute is the retry: retryAttempts is 0>>
    RetryPolicy.MaximumEventAgeInSeconds == 60 <<a stale start is dropped: maxEventAge is 60 s>>
  }
}

let roles = Resources.*[ Type == 'AWS::IAM::Role' ]
let policies = Resources.*[ Type == 'AWS::IAM::Policy' ]
let nameless = [${[...interfaceActions, ...traceActions].map(action => `'${action}'`).join(', ')}]
let wild = %roles.Properties.Policies[*].PolicyDocument.Statement[
  some Resource[*] == '*' some Action[*] not in %nameless ]
let attached = %policies.Properties.PolicyDocument.Statement[
  some Resource[*] == '*' some Action[*] not in %nameless ]
rule no_wildcard {
  %wild empty <<name the resource>>
  %attached empty <<name the resource>>
}

let configured = Resources.*[ Type == 'AWS::Lambda::Function' Properties.Environment.Variables exists ]
rule no_literal_password when %configured !empty {
  %configured.Properties.Environment.Variables.* {
    when this is_string { this != /postgres(ql)?:.*@/ <<name a secret instead of a URL>> }
  }
}
`
