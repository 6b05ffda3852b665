// Imports point downward (docs/architecture.md). Each rule: who may not import what.
const layer = name => `^src/lib/${name}/`
const top = ['replay', 'simulate', 'render', 'cli']
const above = {
  http: ['kafka', 'serde', 'connect-rest', 'dialects', 'select', 'dead-letter', 'connect-engine', ...top],
  kafka: ['serde', 'connect-rest', 'dialects', 'select', 'dead-letter', 'connect-engine', ...top],
  serde: ['connect-rest', 'dialects', 'select', 'dead-letter', 'connect-engine', ...top],
  'connect-rest': ['serde', 'dialects', 'select', 'dead-letter', 'connect-engine', ...top],
  dialects: ['serde', 'connect-rest', 'select', 'dead-letter', 'connect-engine', ...top],
  select: ['connect-rest', 'connect-engine', ...top],
  'dead-letter': ['connect-engine', ...top],
  'connect-engine': ['connect-rest', 'dead-letter', 'select', ...top],
  replay: ['simulate', 'connect-rest', 'render', 'cli'],
  simulate: ['replay', 'connect-rest', 'render', 'cli'],
  render: ['cli'],
}

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {name: 'no-cycle', severity: 'error', from: {}, to: {circular: true}},
    ...Object.entries(above).map(([from, to]) => ({
      name: `${from}-points-down`,
      severity: 'error',
      from: {path: layer(from)},
      to: {path: [...to.map(layer), '^src/commands/', '^src/main\\.ts$']},
    })),
    {
      name: 'renderers-know-no-kafka',
      severity: 'error',
      from: {path: layer('render')},
      to: {path: '^src/lib/(kafka/(client|archive|protocol|compression)|replay)/', dependencyTypesNot: ['type-only']},
    },
    {
      name: 'only-the-client-knows-kafkajs',
      severity: 'error',
      from: {pathNot: '^src/lib/kafka/client/'},
      to: {path: '(^|node_modules/)kafkajs(/|$)'},
    },
    {
      name: 'only-cli-knows-oclif',
      severity: 'error',
      from: {pathNot: '^src/(commands/|main\\.ts|lib/cli/)'},
      to: {path: '(^|node_modules/)(@oclif|inquirer|@inquirer)(/|$)'},
    },
    {
      name: 'ports-know-no-adapter',
      severity: 'error',
      from: {path: '^src/lib/kafka/(ports|record|transport)\\.ts$'},
      to: {path: '^src/lib/kafka/(client|archive)/'},
    },
    {
      name: 'library-loads-no-cli',
      severity: 'error',
      from: {path: '^src/(index|replay|connect)\\.ts$'},
      to: {path: '^src/(lib/(cli|render)|commands)/'},
    },
    {
      name: 'not-to-dev-dep',
      severity: 'error',
      from: {path: '^src/'},
      to: {dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown']},
    },
    {name: 'no-orphans', severity: 'error', from: {orphan: true, path: '^src/', pathNot: '\\.d\\.ts$'}, to: {}},
  ],
  options: {
    doNotFollow: {path: 'node_modules'},
    tsPreCompilationDeps: true,
    tsConfig: {fileName: 'tsconfig.json'},
    parser: 'swc',
    enhancedResolveOptions: {
      extensions: ['.ts', '.js', '.mjs', '.json'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
}
