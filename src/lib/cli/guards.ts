/** Checks of unknown values at the edge to oclif, Node and YAML. */

/** True for objects and arrays, whose members may then be read as unknown. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** Node's `code` of an error (`ENOENT`, `EPIPE`); null when it has none. */
export function errorCode(error: unknown): string | null {
  return isRecord(error) && typeof error['code'] === 'string' ? error['code'] : null
}
