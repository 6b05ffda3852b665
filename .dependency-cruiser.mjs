// Imports point downward (docs/architecture.md). Each rule: who may not import what.
const layer = name => `^src/lib/${name}/`
const above = {
  kafka: ['serde', 'connect-rest', 'dialects', 'select', 'dead-letter', 'connect-engine', 'replay', 'render', 'cli'],
  serde: ['connect-rest', 'dialects', 'select', 'dead-letter', 'connect-engine', 'replay', 'render', 'cli'],
  'connect-rest': ['serde', 'dialects', 'select', 'dead-letter', 'connect-engine', 'replay', 'render', 'cli'],
  dialects: ['select', 'dead-letter', 'connect-engine', 'replay', 'render', 'cli'],
  select: ['connect-engine', 'replay', 'render', 'cli'],
  'dead-letter': ['connect-engine', 'replay', 'render', 'cli'],
  'connect-engine': ['dead-letter', 'select', 'replay', 'render', 'cli'],
  replay: ['render', 'cli'],
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
