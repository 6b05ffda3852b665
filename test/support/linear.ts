/** Size of the larger input, as a multiple of the smaller one. */
const FACTOR = 8
/** Linear work grows 8 times, quadratic work 64 times; the limit is as far from one as from the other. */
const LIMIT = 22
const FEWEST = 3
const MOST = 20

/**
 * Asks whether work grows in proportion to its input: the processor time of this thread for one size is compared with
 * that for an input an eighth of it, the least of several runs each. Other processes take none of that time, and what
 * comes on top now and then (a compiler, the garbage collector) is not in the least.
 * @param size of the larger input, large enough that quadratic work would be its main part
 * @throws Error with the ratio of the two
 */
export async function assertLinear(size: number, work: (size: number) => unknown): Promise<void> {
  let once = Infinity
  let more = Infinity
  // What is shorter is the cost of asking for the time.
  const ratio = (): number => more / Math.max(once, 200)
  for (let attempt = 0; attempt < FEWEST || (attempt < MOST && !(ratio() <= LIMIT)); attempt++) {
    for (let run = 0; run < 3; run++) once = Math.min(once, await processorTime(() => work(Math.ceil(size / FACTOR))))
    more = Math.min(more, await processorTime(() => work(size)))
  }
  if (!(ratio() <= LIMIT)) throw new Error(`${FACTOR} times the input takes ${ratio().toFixed(1)} times the work`)
}

const nobody = new Int32Array(new SharedArrayBuffer(4))

/** Microseconds. The system adds up the time of a thread when it lets go of the processor, so it is made to. */
function timeUsed(): number {
  Atomics.wait(nobody, 0, 0, 0.1)
  const {user, system} = process.threadCpuUsage()
  return user + system
}

/** Microseconds; Infinity when the clock did not move. */
async function processorTime(work: () => unknown): Promise<number> {
  const before = timeUsed()
  await work()
  return timeUsed() - before || Infinity
}
