import type {parse} from '@bufbuild/cel'
import {UsageError} from '../../errors.ts'
import {didYouMean, nearest} from '../../suggest.ts'
import {WHERE_FIELDS, wherePaths, type FieldNode} from './where-fields.ts'

export type Expr = ReturnType<typeof parse>['expr']

/** Names of CEL's own types, which stand in expressions such as `type(value) == string`. */
const TYPE_NAMES = new Set(['bool', 'bytes', 'double', 'int', 'list', 'map', 'null_type', 'string', 'type', 'uint'])

/** What is known of the value of an expression: a node of the field tree, an element of a list, or nothing. */
type Shape = FieldNode | {readonly kind: 'element'; readonly members: readonly string[]} | null

/** Most rounds of loops over lists that are written out, multiplied: more than a filter needs, still no wait. */
const MOST_ROUNDS = 1000

/** Names bound by a loop around an expression. */
interface Scope {
  readonly name: string
  readonly shape: Shape
  /** True for the variable of a loop over a part of the record: what hangs below it is met once. */
  readonly owned: boolean
  /** How often the body runs for one element of the record, by the lists written out in the loops around. */
  readonly rounds: number
  readonly parent: Scope | null
}

/**
 * Find unknown names and functions, and loops whose cost multiplies, before any record is read. `has(field)` becomes
 * `field != null`, because every field is there and null when the record does not have it.
 * @throws UsageError
 */
export function checkWhere(expr: Expr, flag: string, functions: ReadonlySet<string>): void {
  const fail = (message: string, hints: readonly string[] = []): never => {
    throw new UsageError(`${flag}: ${message}`, {hints, context: {flag}})
  }

  const shapeOf = (node: Expr, scope: Scope | null): Shape => {
    const kind = node.exprKind
    switch (kind.case) {
      case 'identExpr':
        return identShape(kind.value.name, scope)
      case 'selectExpr': {
        const operand = kind.value.operand
        const parent = operand === undefined ? null : shapeOf(operand, scope)
        const shape = memberShape(parent, kind.value.field)
        if (kind.value.testOnly && parent?.kind === 'object') rewriteHas(node)
        return shape
      }
      case 'callExpr': {
        const {target, args, function: name} = kind.value
        if (!functions.has(name)) fail(`unknown function '${name}'`, didYouMean(name, functions))
        const shapes = [...(target === undefined ? [] : [target]), ...args].map(arg => shapeOf(arg, scope))
        if (name === '@in' && scope !== null && args[1] !== undefined && !isBounded(args[1], scope)) {
          fail("'in' inside a loop takes a list that is written out, or something of the loop", [])
        }
        return name === '_[_]' ? indexShape(shapes[0] ?? null, args[1]) : null
      }
      case 'listExpr':
        for (const element of kind.value.elements) shapeOf(element, scope)
        return null
      case 'structExpr':
        if (kind.value.messageName !== '') fail(`unknown type '${kind.value.messageName}'`)
        for (const entry of kind.value.entries) {
          if (entry.keyKind.case === 'mapKey') shapeOf(entry.keyKind.value, scope)
          if (entry.value !== undefined) shapeOf(entry.value, scope)
        }
        return null
      case 'comprehensionExpr': {
        const {iterRange, iterVar, iterVar2, accuVar, accuInit, loopCondition, loopStep, result} = kind.value
        if (iterRange === undefined) return null
        const range = shapeOf(iterRange, scope)
        if (scope !== null && !isBounded(iterRange, scope)) {
          fail('a loop inside a loop may only go over something of the outer loop', [
            'value.items.exists(i, i.parts.exists(p, ...)) is fine, value.a.exists(x, value.b.exists(y, ...)) is not',
          ])
        }
        const rounds = (scope?.rounds ?? 1) * Math.max(1, elementsIn(iterRange))
        if (rounds > MOST_ROUNDS)
          fail(`loops over written lists make ${rounds} rounds, at most ${MOST_ROUNDS} are taken`)
        const element: Shape =
          range?.kind === 'list' && range.members.length > 0 ? {kind: 'element', members: range.members} : null
        if (accuInit !== undefined) shapeOf(accuInit, scope)
        for (const name of [iterVar, iterVar2]) {
          // Dotted fields are looked up as one name, before the loop's variable.
          if (memberOf(WHERE_FIELDS, name) !== null) fail(`a loop variable cannot have the name of the field '${name}'`)
        }
        const owned = isBounded(iterRange, scope)
        let inner: Scope = {name: iterVar, shape: element, owned, rounds, parent: scope}
        if (iterVar2 !== '') inner = {name: iterVar2, shape: null, owned, rounds, parent: inner}
        inner = {name: accuVar, shape: null, owned: false, rounds, parent: inner}
        for (const part of [loopCondition, loopStep, result]) if (part !== undefined) shapeOf(part, inner)
        return null
      }
      case 'constExpr':
      case undefined:
      default:
        return null
    }
  }

  const identShape = (name: string, scope: Scope | null): Shape => {
    for (let at = scope; at !== null; at = at.parent) if (at.name === name) return at.shape
    const field = memberOf(WHERE_FIELDS, name)
    if (field !== null) return field
    if (!TYPE_NAMES.has(name)) {
      const members = Object.keys(WHERE_FIELDS.members)
      const inner = pathsEndingIn(name)
      fail(`unknown field '${name}'`, inner.length > 0 ? [`did you mean '${inner[0]}'?`] : didYouMean(name, members))
    }
    return null
  }

  const memberShape = (parent: Shape, name: string): Shape => {
    if (parent === null || parent.kind === 'any') return null
    if (parent.kind === 'leaf' || parent.kind === 'list') return fail(`${pathOf(parent)} has no field '${name}'`)
    if (parent.kind === 'element') {
      return parent.members.includes(name) ? null : fail(`unknown field '${name}'`, didYouMean(name, parent.members))
    }
    const member = memberOf(parent, name)
    if (member !== null) return member
    const path = pathOf(parent)
    const near = nearest(name, Object.keys(parent.members))
    const meant = near === null ? pathsEndingIn(name)[0] : `${path}.${near}`
    return fail(`unknown field '${path}.${name}'`, meant === undefined ? [] : [`did you mean '${meant}'?`])
  }

  const indexShape = (parent: Shape, index: Expr | undefined): Shape => {
    if (parent?.kind === 'list' && parent.members.length > 0) return {kind: 'element', members: parent.members}
    if (parent?.kind !== 'object' && parent?.kind !== 'element') return null
    const constant = index?.exprKind.case === 'constExpr' ? index.exprKind.value.constantKind : undefined
    return constant?.case === 'stringValue' ? memberShape(parent, constant.value) : null
  }

  shapeOf(expr, null)
}

/**
 * True for a list that is walked once in all rounds of the loop around together: written out, a part of the loop's own
 * element, or (outside of every loop) a part of the record.
 */
function isBounded(range: Expr, scope: Scope | null): boolean {
  const kind = range.exprKind
  if (kind.case === 'listExpr') return true
  if (kind.case === 'identExpr') return scope === null || isOwnElement(kind.value.name, scope)
  const operand =
    kind.case === 'selectExpr'
      ? kind.value.operand
      : kind.case === 'callExpr' && kind.value.function === '_[_]'
        ? kind.value.args[0]
        : undefined
  return operand !== undefined && isBounded(operand, scope)
}

/** The innermost loop's variable; one of a loop further out would be walked again in every round of the inner one. */
function isOwnElement(name: string, scope: Scope): boolean {
  // A loop is its result (a name with @) and behind it one or two variables.
  for (let at = scope.parent; at !== null && !at.name.startsWith('@'); at = at.parent) {
    if (at.name === name) return at.owned
  }
  return false
}

/** Elements of the lists that are written out in an expression, inner lists included. */
function elementsIn(range: Expr): number {
  const kind = range.exprKind
  if (kind.case === 'listExpr') {
    return kind.value.elements.reduce((sum, element) => sum + Math.max(1, elementsIn(element)), 0)
  }
  if (kind.case === 'selectExpr') return kind.value.operand === undefined ? 0 : elementsIn(kind.value.operand)
  if (kind.case !== 'callExpr') return 0
  const {target, args} = kind.value
  return [...(target === undefined ? [] : [target]), ...args].reduce((sum, arg) => sum + elementsIn(arg), 0)
}

function rewriteHas(node: Expr): void {
  if (node.exprKind.case !== 'selectExpr') return
  const field = {...node, exprKind: {case: 'selectExpr' as const, value: {...node.exprKind.value, testOnly: false}}}
  const none = {
    $typeName: 'cel.expr.Expr' as const,
    id: node.id,
    exprKind: {
      case: 'constExpr' as const,
      value: {$typeName: 'cel.expr.Constant' as const, constantKind: {case: 'nullValue' as const, value: 0}},
    },
  }
  node.exprKind = {
    case: 'callExpr',
    value: {$typeName: 'cel.expr.Expr.Call', function: '_!=_', args: [field, none]},
  }
}

function memberOf(node: FieldNode, name: string): FieldNode | null {
  return node.kind === 'object' && Object.hasOwn(node.members, name) ? (node.members[name] ?? null) : null
}

function pathsEndingIn(name: string): string[] {
  return [...wherePaths()].map(([path]) => path).filter(path => path.endsWith(`.${name}`))
}

function pathOf(node: FieldNode): string {
  for (const [path, member] of wherePaths()) if (member === node) return path
  return 'it'
}
