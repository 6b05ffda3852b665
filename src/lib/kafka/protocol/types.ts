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

/** A request with its answer: the API key, the versions that we speak, a codec for each, and where tagged fields begin. */
export interface Api<Req, Res> {
  readonly name: string
  readonly key: number
  readonly versions: ApiRange
  /** First version with compact encodings and tag sections; null = none. */
  readonly flexibleFrom: number | null
  encode(body: Req, version: number): Buffer
  decode(payload: Buffer, version: number): Res
}
