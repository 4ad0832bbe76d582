const given = process.env['TASKQ_TEST_SEED']

/**
 * What the random cases of this run grow from. It is printed by every file that uses it, and a run is
 * repeated by giving it: `TASKQ_TEST_SEED=123 npx vitest run --project unit test/unit/schedules`.
 */
export const seed = given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given)

process.stdout.write(`TASKQ_TEST_SEED=${seed}\n`)
