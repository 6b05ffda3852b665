import {describe, expect, test} from 'vitest'
import {renderStatsPage, type StatsPage} from '../../../src/lib/render/html-stats.ts'
import {escapeHtml, htmlPage} from '../../../src/lib/render/html.ts'
import {HOSTILE_TEXTS, hostileStatsPage} from '../../support/stats-pages.ts'

test('text is escaped for content and attributes, what a reader cannot see is shown', () => {
  expect(escapeHtml(`<a href="x" title='y'>&amp;\`</a>`)).toBe(
    '&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;&#96;&lt;/a&gt;',
  )
  expect(escapeHtml('a\u0000b\u202ec\u001b[31m')).toBe('a^@b\\u{202e}c^[[31m')
})

test('a page is whole, says its language, forbids everything but its own style', () => {
  const page = htmlPage('a <b>', ['<p>x</p>'])
  expect(page).toMatch(
    /^<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy"/,
  )
  expect(page).toContain(`default-src 'none'; img-src data:; style-src 'sha256-`)
  expect(page).toContain('<title>a &lt;b&gt;</title>')
  expect(page).not.toMatch(/https?:|<script|url\(|@import|src=/)
})

describe('the page of stats', () => {
  const page = renderStatsPage(hostileStatsPage())

  test('holds no markup from outside', () => {
    const tags = new Set([...page.matchAll(/<\/?([a-z]+[0-9]?)/gi)].map(([, name]) => name))
    const own =
      'body caption code details div h1 h2 head html link main meta p rect span style summary svg table tbody td th thead time title tr wbr'
    expect(tags).toEqual(new Set(own.split(' ')))
    for (const text of HOSTILE_TEXTS.filter(hostile => /[<"'`]/.test(hostile))) expect(page).not.toContain(text)
    expect(page).toContain('&lt;script&gt;window.hit=1&lt;/script&gt;')
  })

  test('has one bar a group and one a bucket, with a title, and the same as numbers', () => {
    expect(page.match(/<rect class="group"/g)).toHaveLength(HOSTILE_TEXTS.length)
    expect(page.match(/<rect class="bucket"/g)).toHaveLength(2)
    expect(page).toContain('2025-11-30T11:53:20.000Z to 2025-11-30T11:54:20.000Z: 3 records')
    expect(page).toContain('height="0.00"')
  })

  test('tells what was left out, what changed, what was not read', () => {
    for (const text of ['1 group not shown', '1 record in no group', '3 records without a time', 'grown, was 1']) {
      expect(page).toContain(text)
    }
    expect(page).toContain('9007199254740993')
    expect(page).toContain('payload 3 B · headers 2.9 KiB')
  })

  test('says so when there is nothing', () => {
    const nothing: StatsPage = {
      ...hostileStatsPage(),
      groups: [],
      histogram: [],
      hiddenGroups: 0,
      total: 0,
      sources: ['t'],
    }
    const empty = renderStatsPage(nothing)
    expect(empty).toContain('No dead letter matches.')
    expect(empty).not.toContain('<svg')
  })
})
