/** One table cell of GitHub-flavoured Markdown: one line, nothing in it is markup. */
export function markdownCell(text: string): string {
  return text.replace(/[\\`*_{}[\]<>|#~]/g, String.raw`\$&`)
}

/** Header row and the row below it; numbers are aligned to the right. */
export function markdownHeader(
  columns: readonly {readonly header: string; readonly align?: 'left' | 'right'}[],
): string {
  const names = columns.map(({header}) => markdownCell(header)).join(' | ')
  const rules = columns.map(({align}) => (align === 'right' ? '---:' : '---')).join(' | ')
  return `| ${names} |\n| ${rules} |\n`
}

/** One row; cells must be sanitised to one line. */
export function markdownRow(cells: readonly string[]): string {
  return `| ${cells.map(markdownCell).join(' | ')} |\n`
}
