/** A number as `Double.toString` writes it, or `Float.toString`: always a point, an exponent below 0.001 and from 10,000,000 on. */
export function javaDecimal(value: number, isFloat = false): string {
  if (Number.isNaN(value)) return 'NaN'
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const sign = value < 0 ? '-' : ''
  const [mantissa = '', exponentText = '0'] = shortest(Math.abs(value), isFloat).split('e')
  const digits = mantissa.replace('.', '')
  const exponent = Number(exponentText)
  if (exponent < -3 || exponent >= 7)
    return `${sign}${digits.slice(0, 1)}.${digits.slice(1).padEnd(1, '0')}E${exponent}`
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return `${sign}${whole}.${digits.slice(exponent + 1).padEnd(1, '0')}`
}

/** Scientific notation with as few digits as tell the number from its neighbours. */
function shortest(value: number, isFloat: boolean): string {
  if (!isFloat) return value.toExponential()
  for (let digits = 0; digits < 9; digits++) {
    const text = value.toExponential(digits)
    if (Math.fround(Number(text)) === value) return text
  }
  return value.toExponential()
}
