import {hash} from 'node:crypto'
import {sanitize} from './sanitize.ts'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
}

/** Hostile text as text of a page or of a quoted attribute: control and bidirectional characters visible, markup escaped. */
export function escapeHtml(text: string): string {
  return sanitize(text).replace(/[&<>"'`]/g, character => ENTITIES[character] ?? '')
}

/** A row of a table: markup of the cells, escaped by the caller. */
export interface HtmlTable {
  readonly caption: string
  readonly headers: readonly string[]
  /** Right-aligned columns, by index. */
  readonly numeric: readonly number[]
  readonly rows: readonly (readonly string[])[]
}

/** A table that becomes a list of blocks where the page is narrow. */
export function htmlTable({caption, headers, numeric, rows}: HtmlTable): string {
  const kind = (index: number): string => (numeric.includes(index) ? ' class="number"' : '')
  const head = headers.map((header, index) => `<th scope="col"${kind(index)}>${escapeHtml(header)}</th>`).join('')
  const body = rows.map(cells => {
    const inside = cells.map(
      (cell, index) =>
        `<td role="cell" data-label="${escapeHtml(headers[index] ?? '')}"${kind(index)}>${cell === '' ? '' : `<div>${cell}</div>`}</td>`,
    )
    return `<tr role="row">${inside.join('')}</tr>`
  })
  return [
    `<table role="table"><caption>${escapeHtml(caption)}</caption>`,
    `<thead><tr>${head}</tr></thead>`,
    `<tbody>${body.join('\n')}</tbody></table>`,
  ].join('\n')
}

const STYLE = `
:root{color-scheme:light dark;--ink:#1b1f24;--faint:#57606a;--paper:#fff;--line:#d0d7de;--bar:#0969da;--bad:#cf222e;--warn:#7d4e00;--good:#116329}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--faint:#9198a1;--paper:#0d1117;--line:#3d444d;--bar:#58a6ff;--bad:#ff7b72;--warn:#e3b341;--good:#7ee787}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1500px;padding:1rem;background:var(--paper);color:var(--ink);font:16px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}
p.facts{color:var(--faint)}
table{border-collapse:collapse;width:100%;font-size:.9rem}
caption{text-align:left;color:var(--faint);padding:.3rem 0}
th,td{text-align:left;vertical-align:top;padding:.35rem .5rem;border-bottom:1px solid var(--line);min-width:5.5rem}
th{overflow-wrap:normal}
th.number,td.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap;min-width:0}
time{display:block;white-space:nowrap}
code{font-family:ui-monospace,monospace}
svg{display:block;width:100%;fill:var(--bar)}
svg.time{height:10rem;border-bottom:1px solid var(--line)}
svg.share{height:.7rem;min-width:6rem}
.ends{display:flex;justify-content:space-between;gap:1rem;color:var(--faint);font-size:.85rem}
.bad{color:var(--bad)}.warn{color:var(--warn)}.good{color:var(--good)}
@media (max-width:900px){
table,tbody,tr,td,caption{display:block}
thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
tr{border-bottom:2px solid var(--line);padding:.5rem 0}
td,td.number{display:grid;grid-template-columns:6.5rem 1fr;gap:.5rem;border:0;text-align:left;white-space:normal;padding:.15rem 0}
td::before{content:attr(data-label);color:var(--faint)}
td:empty{display:none}
}
`

/**
 * A whole page that needs nothing from anywhere: no script, no font, no picture, and a content security policy that would
 * forbid them.
 * @param body markup; every text in it escaped
 */
export function htmlPage(title: string, body: readonly string[]): string {
  const policy = [
    "default-src 'none'",
    'img-src data:',
    `style-src 'sha256-${hash('sha256', STYLE, 'base64')}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  return [
    '<!DOCTYPE html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="referrer" content="no-referrer">',
    '<link rel="icon" href="data:,">',
    `<title>${escapeHtml(title)}</title>`,
    `<style>${STYLE}</style>`,
    '</head>',
    '<body>',
    '<main>',
    ...body,
    '</main>',
    '</body>',
    '</html>',
    '',
  ].join('\n')
}
