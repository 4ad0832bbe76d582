import { Duration } from 'aws-cdk-lib'
import { Rule, Schedule } from 'aws-cdk-lib/aws-events'
import { LambdaFunction as LambdaTarget } from 'aws-cdk-lib/aws-events-targets'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'

/** An event that nobody took for a minute is stale: the next one says the same. */
export const eventAgeMax = Duration.seconds(60)

export interface StartRuleProps {
  readonly description: string
  readonly everyMinutes: number
  readonly target: IFunction
}

/**
 * What starts a function: one rule with one target. AWS calls scheduled rules legacy in favour of EventBridge
 * Scheduler; should they end, this construct is what changes.
 */
export class StartRule extends Construct {
  constructor(scope: Construct, id: string, { description, everyMinutes, target }: StartRuleProps) {
    super(scope, id)
    new Rule(this, 'Rule', {
      description,
      schedule: Schedule.rate(Duration.minutes(everyMinutes)),
      // A start that could not be delivered in a minute is replaced by the next; no retry is owed to it.
      targets: [new LambdaTarget(target, { retryAttempts: 0, maxEventAge: eventAgeMax })],
    })
  }
}
