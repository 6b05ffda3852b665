import {fileURLToPath} from 'node:url'

/** Folder of this sandbox (its pom.xml, Java sources and log configuration). */
export const sandboxDir = fileURLToPath(new URL('.', import.meta.url))

/** Folder for everything that can be made again; ignored by git. */
export const cacheDir = fileURLToPath(new URL('../.cache/', import.meta.url))

/** A reason for a person why the sandbox cannot do its work; printed without a stack. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError'
}
