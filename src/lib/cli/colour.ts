/** The one place that decides about colour. */

export type ColourLevel = 0 | 1 | 2 | 3

export interface ColourFacts {
  readonly isTTY: boolean
  /** `--no-color` was given. */
  readonly noColorFlag: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Colour level of one stream: 0 none, 1 sixteen colours, 2 256, 3 true colour.
 * Off for `--no-color`, for `NO_COLOR` set to anything but the empty string (no-color.org), for `TERM=dumb` and without
 * a terminal; `FORCE_COLOR` (anything but `0` or `false`) turns it on without a terminal.
 */
export function colourLevel({isTTY, noColorFlag, env}: ColourFacts): ColourLevel {
  if (noColorFlag) return 0
  const noColor = env['NO_COLOR']
  if (noColor !== undefined && noColor !== '') return 0
  const force = env['FORCE_COLOR']
  if (force === '0' || force === 'false') return 0
  if (force === '2') return 2
  if (force === '3') return 3
  if (force !== undefined) return 1
  if (env['TERM'] === 'dumb' || !isTTY) return 0
  if (env['COLORTERM'] === 'truecolor' || env['COLORTERM'] === '24bit') return 3
  return env['TERM']?.includes('256') === true ? 2 : 1
}

/** True when the stream may be given characters outside ASCII (UTF-8 locale); charts fall back to ASCII otherwise. */
export function speaksUnicode(env: Readonly<Record<string, string | undefined>>): boolean {
  const locale = [env['LC_ALL'], env['LC_CTYPE'], env['LANG']].find(value => value !== undefined && value !== '')
  if (env['TERM'] === 'dumb' || env['TERM'] === 'linux') return false
  return locale !== undefined && /utf-?8/i.test(locale)
}
