import type {Reporter, TestModule} from 'vitest/node'

/** Prints, last, `unit N, cli N, integration N` (tests run per project) and `N passed, N failed, N skipped`. */
export default class TotalsReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const run = new Map([
      ['unit', 0],
      ['cli', 0],
      ['integration', 0],
    ])
    let passed = 0
    let failed = unhandledErrors.length
    let skipped = 0
    for (const module of modules) {
      failed += module.errors().length
      for (const test of module.children.allTests()) {
        const {state} = test.result()
        if (state === 'passed') passed += 1
        else if (state === 'failed') failed += 1
        else skipped += 1
        if (state === 'passed' || state === 'failed')
          run.set(module.project.name, (run.get(module.project.name) ?? 0) + 1)
      }
      // A suite whose hook failed has no failed test of its own.
      for (const suite of module.children.allSuites()) failed += suite.errors().length
    }
    process.stdout.write(`\n${[...run].map(([name, count]) => `${name} ${count}`).join(', ')}\n`)
    process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`)
  }
}
