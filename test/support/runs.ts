/**
 * Runs of a property: all of them in `npm test`, a fifth in `npm run check`, whose point is a quick answer.
 * @param all number of runs when nobody waits
 */
export function runs(all: number): number {
  return process.env['KDLQ_TEST_RUNS'] === 'few' ? Math.max(5, Math.ceil(all / 5)) : all
}
