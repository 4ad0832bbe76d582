import { Annotations, Aspects } from 'aws-cdk-lib'
import {
  CfnVPCEndpoint,
  Connections,
  type ISecurityGroup,
  type IVpc,
  SecurityGroup,
  type SubnetSelection,
} from 'aws-cdk-lib/aws-ec2'
import { PolicyStatement } from 'aws-cdk-lib/aws-iam'
import type { Construct, IConstruct } from 'constructs'
import { InvalidInputError } from '../shared/core/errors.ts'

/** The network that the functions are in, and the groups that stand for them there. */
export interface Network {
  readonly vpc: IVpc
  readonly vpcSubnets?: SubnetSelection
  readonly securityGroups: ISecurityGroup[]
}

export interface NetworkProps {
  readonly vpc?: IVpc
  readonly vpcSubnets?: SubnetSelection
  readonly securityGroups?: readonly ISecurityGroup[]
}

/** The network of the properties; undefined where there is none. */
export function networkOf(scope: Construct, props: NetworkProps): Network | undefined {
  const { vpc, vpcSubnets, securityGroups } = props
  if (vpc === undefined) {
    const [lonely] = (['vpcSubnets', 'securityGroups'] as const).filter(name => props[name] !== undefined)
    if (lonely === undefined) return undefined
    throw new InvalidInputError('OPTION_INVALID', lonely, 'says where in a network, but vpc is absent')
  }
  const description = 'The functions of TaskQ'
  const own = () => [new SecurityGroup(scope, 'SecurityGroup', { vpc, description })]
  warnUnlessSecretsAreReachable(scope, { vpc, ...(vpcSubnets && { vpcSubnets }) })
  return {
    vpc,
    ...(vpcSubnets && { vpcSubnets }),
    securityGroups: securityGroups === undefined ? own() : [...securityGroups],
  }
}

/** What stands for the functions where another construct lets them in. */
export function connectionsOf(network: Network | undefined): Connections {
  if (network !== undefined) return new Connections({ securityGroups: network.securityGroups })
  throw new InvalidInputError('OPTION_INVALID', 'vpc', 'is absent: the functions are in no network')
}

/**
 * What Lambda needs to put a function into a network, as in AWS' own managed policy. These actions have no
 * resource that could be named: the interfaces do not exist yet, and describing knows no resource at all.
 */
export const interfaceActions: readonly string[] = [
  'ec2:CreateNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:DeleteNetworkInterface',
  'ec2:AssignPrivateIpAddresses',
  'ec2:UnassignPrivateIpAddresses',
]

export function interfaceStatements(network: Network | undefined): PolicyStatement[] {
  if (network === undefined) return []
  return [new PolicyStatement({ actions: [...interfaceActions], resources: ['*'] })]
}

/**
 * In a subnet without a way out, a function reads its secret only through an endpoint in the network. Both
 * are seen at synthesis: the kind of each subnet, and every endpoint of this app. An endpoint that stands
 * elsewhere is not, so this is a warning. It is looked for at the end, when every construct is there.
 */
function warnUnlessSecretsAreReachable(
  scope: Construct,
  { vpc, vpcSubnets }: Omit<Network, 'securityGroups'>,
) {
  const goingOut = new Set(vpc.privateSubnets.map(subnet => subnet.subnetId))
  const enclosed = vpc.selectSubnets(vpcSubnets).subnetIds.filter(id => !goingOut.has(id))
  if (enclosed.length === 0) return
  Aspects.of(scope).add({
    visit: node => {
      if (node !== scope || hasSecretsEndpoint(scope.node.root, vpc)) return
      Annotations.of(scope).addWarningV2(
        'taskq:secretsUnreachable',
        'Secrets Manager may be out of reach: the chosen subnets have no way out, and this app gives their ' +
          'network no endpoint for it. Add vpc.addInterfaceEndpoint(…SECRETS_MANAGER) or choose others; ' +
          'acknowledge this if the endpoint stands elsewhere.',
      )
    },
  })
}

function hasSecretsEndpoint(root: IConstruct, vpc: IVpc): boolean {
  const endpoints = root.node.findAll().filter(node => node instanceof CfnVPCEndpoint)
  return endpoints.some(
    ({ serviceName, vpcId }) =>
      vpcId === vpc.vpcId && /\.secretsmanager(-fips)?(?![\w-])/.test(serviceName ?? ''),
  )
}
