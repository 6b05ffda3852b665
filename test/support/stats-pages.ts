import type {StatsPage} from '../../src/lib/render/html-stats.ts'

/** Texts that end whatever they stand in, and try to run. */
export const HOSTILE_TEXTS: readonly string[] = [
  '<script>window.hit=1</script>',
  '</title></style></svg></table><img src=x onerror=window.hit=1>',
  '"><svg onload=window.hit=1>',
  "' onmouseover='window.hit=1",
  '<!-- --!><iframe srcdoc="<script>parent.hit=1</script>">',
  '&lt;script&gt;window.hit=1&lt;/script&gt; &amp;',
  'javascript:window.hit=1//`${window.hit=1}`',
  'long'.repeat(200),
]

/** A page on which every text from outside is hostile. */
export function hostileStatsPage(): StatsPage {
  const all = HOSTILE_TEXTS.join(' ')
  const count = HOSTILE_TEXTS.length
  return {
    sources: [all],
    by: ['connector'],
    groups: HOSTILE_TEXTS.map((text, index) => ({
      by: {connector: text},
      count: index + 1,
      share: (index + 1) / count,
      firstSeen: '1764503600000',
      lastSeen: '1764503700000',
      example: `${text}:0:1`,
      bytes: {key: 1, value: 2, headers: 3},
      sample: {stage: text, exception: text, message: text, cause: text, causeMessage: text},
      verdict: 'needs-fix',
      verdictReason: text,
      change: 'grown',
      before: 1,
    })),
    hiddenGroups: 1,
    total: 100,
    ungrouped: 1,
    undescribed: 2,
    withoutTimestamp: 3,
    histogram: [
      {from: '1764503600000', to: '1764503660000', count: 3},
      {from: '1764503660000', to: '1764503720000', count: 0},
    ],
    bytes: {key: 1, value: 2, headers: 3000},
    scanned: [
      {
        topic: all,
        partition: 0,
        from: '0',
        to: '9007199254740993',
        records: 100,
        bytes: 1,
        control: 0,
        aborted: 0,
        undecodable: 0,
        complete: false,
        reason: all,
      },
    ],
    warnings: [all],
    nowMs: 1_764_503_800_000,
  }
}
