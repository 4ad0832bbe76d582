/**
 * What every template of ours must hold, in the language of CloudFormation Guard; CDK's own validation reads
 * them along with its rules, and a template that breaks one is not synthesized.
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
let wild = %roles.Properties.Policies[*].PolicyDocument.Statement[ some Resource[*] == '*' ]
rule no_wildcard {
  %wild empty <<name the resource>>
}

let configured = Resources.*[ Type == 'AWS::Lambda::Function' Properties.Environment.Variables exists ]
rule no_literal_password when %configured !empty {
  %configured.Properties.Environment.Variables.* {
    when this is_string { this != /postgres(ql)?:.*@/ <<name a secret instead of a URL>> }
  }
}
`
