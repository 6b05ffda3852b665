/**
 * One CSV field by RFC 4180: quoted when it holds a comma, a quote, CR or LF. Null is an empty field, the empty text is
 * a quoted one, so that the two stay apart.
 */
export function csvField(value: string | null): string {
  if (value === null) return ''
  if (value === '') return '""'
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

/** One row with its CRLF. */
export function csvRow(fields: readonly (string | null)[]): string {
  return `${fields.map(csvField).join(',')}\r\n`
}
