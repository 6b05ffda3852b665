import {existsSync} from 'node:fs'
import {delimiter, join} from 'node:path'
import {type Browser, launch} from 'puppeteer-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'] as const

/** The browser of this machine: `KDLQ_CHROMIUM`, else the first one in PATH. @throws Error that says what to install */
export function findChromium(env: Readonly<Record<string, string | undefined>>): string {
  const named = env['KDLQ_CHROMIUM']
  if (named !== undefined && named !== '') {
    if (existsSync(named)) return named
    throw new Error(`KDLQ_CHROMIUM names ${named}, which is not there`)
  }
  const folders = (env['PATH'] ?? '').split(delimiter)
  const found = folders.flatMap(folder => NAMES.map(name => join(folder, name))).find(path => existsSync(path))
  if (found !== undefined) return found
  throw new Error('no Chromium was found: install the package chromium, or name the program in KDLQ_CHROMIUM')
}

/** Chromium without a window, asking nobody for anything. Close it. */
export async function launchChromium(): Promise<Browser> {
  return launch({
    executablePath: findChromium(process.env),
    headless: true,
    // A container's root user has no sandbox to give; the pages are our own files.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-background-networking', '--no-first-run'],
  })
}
