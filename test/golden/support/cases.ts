/** One run of the whole program with everything injected that could differ. */
export interface Case {
  /** `<command>.<case>.<format>`: the name of its files. */
  readonly name: string
  readonly argv: readonly string[]
  /** Columns of the terminal on stdout and stderr; null = pipes. */
  readonly columns: number | null
  readonly env: Readonly<Record<string, string>>
  readonly stdin?: string
}

export interface CaseResult {
  readonly stdout: string
  readonly stderr: string
  readonly code: number
}

/** 2 h after the first record of the fixtures. */
export const NOW = 1_764_507_200_000
