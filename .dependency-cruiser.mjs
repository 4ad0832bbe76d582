import { Visitor } from '@swc/core/Visitor.js'

/**
 * The rooms of this house, and the table of what each may import besides itself. A room is a folder; an
 * entry of its list is another room, or one file of it. Most of what follows is derived from the two tables.
 */
const rooms = {
  'shared/core': [],
  'shared/sql': ['shared/core'],
  'shared/db': ['shared/core', 'shared/sql'],
  'shared/sweeper': ['shared/core', 'shared/sql'],
  'shared/limits': ['shared/core', 'shared/sql'],
  'shared/feed': ['shared/core', 'shared/sql'],
  'shared/client': ['shared/core', 'shared/sql'],
  'shared/schedules': [
    'shared/core',
    'shared/sql',
    'shared/sweeper',
    'shared/client',
    'shared/sweeps/expired_locks.ts',
  ],
  'shared/sweeps': ['shared/core', 'shared/sql', 'shared/sweeper'],
  // The registry of all that a rule starts.
  'shared/sweeps/index.ts': ['shared/sweeps', 'shared/sweeper', 'shared/schedules/cron.ts'],
  'shared/worker': [
    'shared/core',
    'shared/sql',
    'shared/client',
    'shared/limits',
    'shared/sweeps/promotion.ts',
    'shared/sweeps/expired_locks.ts',
  ],
  'functions/cli': ['shared', 'functions', 'infra'],
  'functions/dev': ['shared', 'functions', 'infra'],
  functions: ['shared'],
  infra: ['shared/core', 'shared/sweeper', 'shared/sweeps', 'shared/schedules'],
  test: ['shared', 'functions', 'infra', 'examples'],
  // What a user can import, and nothing else.
  examples: ['functions/entry', 'infra/index.ts'],
}

/** Packages that have one room of their own, types included; tests and examples may use all of them. */
const packages = {
  drivers: {
    named: ['pg', '@types/pg', 'pg-[^/]+', 'postgres', '@neondatabase/serverless'],
    room: '^shared/db/',
    instead: 'Ask for the Db port of shared/sql; shared/db alone adapts a driver to it.',
  },
  aws: {
    named: ['@aws-sdk/[^/]+', '@smithy/[^/]+', '@aws-lambda-powertools/[^/]+', '@types/aws-lambda'],
    room: '^functions/',
    instead: 'Define a port in the room that needs the service; functions/ hands it an adapter.',
  },
  cdk: {
    named: ['aws-cdk-lib', 'constructs', 'cdk-nag'],
    room: '^infra/',
    instead: 'Describe the resource as data in shared/sweeper; infra/ alone turns data into resources.',
  },
}

/**
 * What a Lambda or an application runs although it is for development in package.json: the builds carry it
 * inside (infra/carried.ts), so nobody installs it, and no application's bundler meets the driver's CommonJS.
 */
const carried = [...packages.drivers.named, '@aws-lambda-powertools/[^/]+', '@aws-sdk/[^/]+', 'croner', 'zod']

/** What to do instead, for the rooms where the refused import has a usual cause. */
const instead = {
  'shared/core': 'It is what is true without a database or a cloud: take the value as an argument.',
  'shared/sql': 'A statement is data: pass the value in, and let the caller decide when it runs.',
  'shared/db': 'It adapts drivers to the Db port; a rule of the queue belongs into the room that owns it.',
  'shared/sweeps': 'What two sweeps share moves down into shared/sweeper or shared/sql.',
  'shared/worker': 'A second definition to repair with needs its line in the table.',
  infra: 'It reads definitions and settings; code that runs in a function is named by path and bundled.',
}

const within = room => `^${room}${room.endsWith('.ts') ? '$' : '/'}`
const roomsInside = room => Object.keys(rooms).filter(other => other.startsWith(`${room}/`))
const inPackage = names => `(^|/)node_modules/(${names.join('|')})/`
const everywhere = '^(shared|functions|infra|test|examples)/'

const roomRules = Object.entries(rooms).map(([room, allowed]) => ({
  name: `room-${room.replace('/', '-')}`,
  comment:
    `${room} may import ${allowed.length ? `only ${allowed.join(', ')}` : 'no other room'}. ` +
    (instead[room] ?? 'Move what both rooms need down into a room that both may import.'),
  severity: 'error',
  from: { path: within(room), pathNot: roomsInside(room).map(within) },
  to: { path: everywhere, pathNot: [room, ...allowed].map(within) },
}))

const packageRules = Object.entries(packages).map(([name, { named, room, instead: advice }]) => ({
  name: `package-${name}`,
  comment: advice,
  severity: 'error',
  from: { path: everywhere, pathNot: [room, '^(test|examples)/'] },
  to: { path: inPackage(named) },
}))

// The visitor that the cruiser reads with is older than `using` and stops at one. To an import it is a
// declaration like any other.
const { visitStatement } = Visitor.prototype
Visitor.prototype.visitStatement = function (statement) {
  if (statement.type !== 'UsingDeclaration') return visitStatement.call(this, statement)
  this.visitVariableDeclarators(statement.decls)
  return statement
}

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...roomRules,
    ...packageRules,
    {
      name: 'no-unknown-room',
      comment:
        'This folder is not in the table of rooms: put the file into a room, or add the room to the table.',
      severity: 'error',
      from: { path: everywhere, pathNot: Object.keys(rooms).map(within) },
      to: {},
    },
    {
      name: 'core-is-pure',
      comment: 'shared/core imports nothing but zod, no part of Node either: take the value as an argument.',
      severity: 'error',
      from: { path: within('shared/core') },
      to: { pathNot: [within('shared/core'), inPackage(['zod'])] },
    },
    {
      name: 'no-sweep-imports-a-sweep',
      comment:
        'A sweep stands alone: what two share moves down into shared/sweeper. Only the index lists them.',
      severity: 'error',
      from: { path: within('shared/sweeps'), pathNot: '^shared/sweeps/index\\.ts$' },
      to: { path: within('shared/sweeps') },
    },
    {
      name: 'functions-import-infra-late',
      comment:
        'Only functions/cli and functions/dev read infra, by `await import(…)`: no Lambda carries the CDK.',
      severity: 'error',
      from: { path: '^functions/(cli|dev)/' },
      to: { path: within('infra'), dependencyTypesNot: ['dynamic-import'] },
    },
    {
      name: 'infra-reaches-no-driver',
      comment:
        'Synthesis must not load a driver. Find the import on the way that leads to shared/db and cut it.',
      severity: 'error',
      from: { path: within('infra') },
      to: { path: inPackage(packages.drivers.named), reachable: true },
    },
    {
      name: 'no-cycle',
      comment: 'Two files that need each other are one file, or need a third below them. Types count.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphan',
      comment: 'Nothing imports this file and it imports nothing: delete it, or wire it in.',
      severity: 'error',
      from: { orphan: true, pathNot: ['^[^/]+$', '\\.test\\.ts$', '\\.d\\.ts$'] },
      to: {},
    },
    {
      name: 'resolvable',
      comment: 'This import resolves to no file: correct the path, with its extension, or add the package.',
      severity: 'error',
      from: {},
      // The one name that stays open: behind it stands the module of whoever deploys.
      to: { couldNotResolve: true, pathNot: '^taskq-definitions$' },
    },
    {
      name: 'declared-package',
      comment: 'The package is not in package.json: `npm install --save-exact` it, or do without.',
      severity: 'error',
      from: {},
      // Our own package, imported by its name as users do, is in its own package.json by nature.
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown', 'undetermined'], pathNot: everywhere },
    },
    {
      name: 'no-development-package-at-run-time',
      comment:
        'An application gets dependencies only: move the package there in package.json, or, if the builds ' +
        'are to carry it inside, add it to `carried`.',
      severity: 'error',
      from: { path: '^(shared|functions)/', pathNot: '^functions/(cli|dev)/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'], pathNot: inPackage(carried) },
    },
  ],
  options: {
    // The cruiser cannot read with TypeScript 7, so it reads with swc, which keeps type imports. That it
    // overlooks none is held by test/tidy/rooms.test.ts: every import of every file must be an edge.
    parser: 'swc',
    doNotFollow: { path: '(^|/)node_modules/' },
    exclude: { path: '^(bundles|dist|cdk\\.out|coverage|\\.[^./]+)/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['taskq-source', 'import', 'node', 'default', 'types'],
      mainFields: ['module', 'main', 'types'],
    },
  },
}
