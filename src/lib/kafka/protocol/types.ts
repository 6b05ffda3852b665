export type NodeId = number

export interface ApiRange {
  readonly min: number
  readonly max: number
}

export interface Node {
  readonly id: NodeId
  readonly host: string
  readonly port: number
  readonly rack: string | null
}

/** One protocol message: key and versions we implement, body codec per version, flexible from which version on. */
export interface Api<Req, Res> {
  readonly name: string
  readonly key: number
  readonly versions: ApiRange
  /** First version with compact encodings and tag sections; null = none. */
  readonly flexibleFrom: number | null
  encode(body: Req, version: number): Buffer
  decode(payload: Buffer, version: number): Res
}
