import type {DecodedValue} from './types.ts'

/** An object of decoded members: without a prototype, so a member named `__proto__` is a member like any other. */
export type DecodedObject = Record<string, DecodedValue>

/** An empty one. */
export function createObject(): DecodedObject {
  const object: DecodedObject = {}
  Object.setPrototypeOf(object, null)
  return object
}

/** Members of parsed JSON; nothing for what is no object. */
export function membersOf(json: unknown): Readonly<Record<string, unknown>> {
  return isObject(json) ? json : {}
}

/** True for an object, lists included. */
export function isObject(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null
}
