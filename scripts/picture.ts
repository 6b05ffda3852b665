/** Writes docs/images/*.svg from what the built kdlq really prints; part of `npm run build`. */
import {spawnSync} from 'node:child_process'
import {mkdir, writeFile} from 'node:fs/promises'
import {join} from 'node:path'
import {root, toolEnv} from './lib.ts'

const COLORS: Readonly<Record<string, string>> = {
  '31': '#ff7b72',
  '32': '#7ee787',
  '33': '#e3b341',
  '34': '#79c0ff',
  '35': '#d2a8ff',
  '36': '#56d4dd',
  '90': '#8b949e',
}
const CHAR_WIDTH = 7.8
const LINE_HEIGHT = 18

const escape = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** Terminal text with colour codes (SGR) as a self-contained SVG picture. */
export function terminalToSvg(text: string): string {
  const lines = text.trimEnd().split('\n')
  const plain = lines.map(line => line.replaceAll(/\u001B\[[0-9;]*m/g, ''))
  const width = Math.ceil(Math.max(...plain.map(line => line.length)) * CHAR_WIDTH + 32)
  const height = lines.length * LINE_HEIGHT + 32
  let style = {fill: '', bold: false, dim: false}
  const rows = lines.map((line, index) => {
    let spans = ''
    for (const part of line.split(/(\u001B\[[0-9;]*m)/)) {
      const codes = /^\u001B\[([0-9;]*)m$/.exec(part)?.[1]
      if (codes === undefined) {
        const attributes = [
          style.fill === '' ? '' : ` fill="${style.fill}"`,
          style.bold ? ' font-weight="bold"' : '',
          style.dim ? ' opacity="0.65"' : '',
        ].join('')
        if (part !== '') spans += `<tspan${attributes}>${escape(part)}</tspan>`
        continue
      }
      for (const code of codes.split(';')) {
        if (code === '0' || code === '') style = {fill: '', bold: false, dim: false}
        else if (code === '1') style = {...style, bold: true}
        else if (code === '2') style = {...style, dim: true}
        else if (code === '22') style = {...style, bold: false, dim: false}
        else if (code === '39') style = {...style, fill: ''}
        else style = {...style, fill: COLORS[code] ?? style.fill}
      }
    }
    return `<text x="16" y="${28 + index * LINE_HEIGHT}" xml:space="preserve">${spans}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13" fill="#e6edf3">
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${rows.join('\n')}
</svg>
`
}

const pictures: Readonly<Record<string, readonly string[]>> = {
  stats: ['stats', 'example:orders-dlq', '--by', 'stage,exception'],
}

if (import.meta.main) {
  await mkdir(join(root, 'docs/images'), {recursive: true})
  for (const [name, args] of Object.entries(pictures)) {
    const env = {...toolEnv, FORCE_COLOR: '1', COLUMNS: '110', TZ: 'UTC'}
    const {status, stdout, stderr} = spawnSync('node', ['bin/run.js', ...args], {cwd: root, env, encoding: 'utf8'})
    if (status !== 0) throw new Error(`kdlq ${args.join(' ')} failed: ${stderr}`)
    await writeFile(join(root, 'docs/images', `${name}.svg`), terminalToSvg(`$ kdlq ${args.join(' ')}\n${stdout}`))
  }
}
