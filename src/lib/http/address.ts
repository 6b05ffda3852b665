/** An address without what stands before `@`, at most 200 characters, for errors: it may be a password. */
export function withoutUser(address: string): string {
  return address.replace(/\/\/[^/@]*@/, '//').slice(0, 200)
}
