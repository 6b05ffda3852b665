import {defineConfig} from 'vitest/config'

const shared = {environment: 'node', testTimeout: 20_000} as const

export default defineConfig({
  test: {
    reporters: ['default', './test/support/totals-reporter.ts'],
    projects: [
      {
        test: {
          ...shared,
          name: 'unit',
          include: ['test/{unit,property,golden,contract}/**/*.test.ts'],
          exclude: ['test/contract/kafka.test.ts'],
          setupFiles: ['test/support/setup.ts'],
          // Loading the sources anew for each of 200 files takes longer than most of their tests.
          isolate: false,
          testTimeout: 60_000,
        },
      },
      {
        // Whole processes: node 26 from node_modules/.bin runs the sources.
        test: {
          ...shared,
          name: 'cli',
          include: ['test/cli/**/*.test.ts'],
          env: {NODE_ENV: 'production'},
          testTimeout: 60_000,
        },
      },
      {
        // Real Kafka and Connect, started by the global setup and stopped again.
        test: {
          ...shared,
          name: 'integration',
          include: ['test/integration/**/*.test.ts', 'test/contract/kafka.test.ts'],
          globalSetup: ['test/support/kafka-setup.ts'],
          fileParallelism: false,
          env: {NODE_ENV: 'production'},
          testTimeout: 120_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
})
