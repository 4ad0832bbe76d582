import { isSchemaName } from './names.ts'

const beforeSchema = 'The functions of the queue in schema '

/**
 * The output of a stack that has, as JSON, the name of each function of one queue by what it is for. A stack
 * of several queues has several, told apart by the schema that each describes itself with.
 */
export const functionNames = {
  outputId: 'FunctionNames',

  /** Plain text: CloudFormation evaluates nothing in it, so an unknown schema is left out. */
  describe: (schema: string | undefined) =>
    schema === undefined
      ? 'The functions of a queue: their names, by what each is for'
      : `${beforeSchema}${schema}: their names, by what each is for`,

  /** Whether the key of an output is that of one; CloudFormation's keys have more around the id. */
  isKey: (key: string) => key.includes(functionNames.outputId),

  /** The schema in a description; undefined where only the deployment knew it. */
  schemaIn: (description: string): string | undefined => {
    const schema = description.startsWith(beforeSchema)
      ? description.slice(beforeSchema.length).split(':')[0]
      : undefined
    return schema !== undefined && isSchemaName(schema) ? schema : undefined
  },
} as const
