import { Duration } from 'aws-cdk-lib'
import { Rule, Schedule } from 'aws-cdk-lib/aws-events'
import { LambdaFunction as LambdaTarget } from 'aws-cdk-lib/aws-events-targets'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { Construct } from 'constructs'
import type { Sweep } from '../shared/sweeper/define.ts'

/**
 * What starts a sweep: one rule with one target. AWS calls scheduled rules legacy in favour of EventBridge
 * Scheduler; should they end, this construct is what changes.
 */
export class SweepRule extends Construct {
  constructor(scope: Construct, id: string, sweep: Sweep, target: IFunction) {
    super(scope, id)
    new Rule(this, 'Rule', {
      description: `Starts ${sweep.purpose}: ${sweep.title}`,
      schedule: Schedule.rate(Duration.minutes(sweep.cadenceMinutes)),
      // A start that could not be delivered in a minute is replaced by the next; no retry is owed to it.
      targets: [new LambdaTarget(target, { retryAttempts: 0, maxEventAge: Duration.seconds(60) })],
    })
  }
}
