import type {ReplayPlan} from './plan.ts'

interface Place {
  readonly topic: string
  readonly partition: number
}

/** The writes that a plan shows, by target partition: a run makes no others, whatever the rest of the plan says. */
export class PlanBudget {
  readonly #left = new Map<string, number>()

  constructor(targets: ReplayPlan['targets']) {
    for (const target of targets) this.#left.set(keyOf(target), (this.#left.get(keyOf(target)) ?? 0) + target.count)
  }

  /** Take one write. @returns false when the plan shows no (more) writes to this partition */
  take(place: Place): boolean {
    const left = this.#left.get(keyOf(place)) ?? 0
    if (left === 0) return false
    this.#left.set(keyOf(place), left - 1)
    return true
  }
}

function keyOf({topic, partition}: Place): string {
  return `${partition} ${topic}`
}
