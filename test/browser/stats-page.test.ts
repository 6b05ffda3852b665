/** `npm run test:browser`: the page of `stats --html` in a real Chromium. */
import assert from 'node:assert/strict'
import {execFileSync} from 'node:child_process'
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs'
import {tmpdir} from 'node:os'
import {join} from 'node:path'
import {after, before, describe, test} from 'node:test'
import {pathToFileURL} from 'node:url'
import type {Browser, Page} from 'puppeteer-core'
import {renderStatsPage} from '../../src/lib/render/html-stats.ts'
import {HOSTILE_TEXTS, hostileStatsPage} from '../support/stats-pages.ts'
import {launchChromium} from './chromium.ts'

interface Visit extends AsyncDisposable {
  readonly page: Page
  /** What the browser complained about, and what it asked for besides the file itself. */
  readonly complaints: readonly string[]
  readonly requests: readonly string[]
}

const folder = mkdtempSync(join(tmpdir(), 'kdlq-browser-'))
const root = join(import.meta.dirname, '../..')
let browser: Browser

before(async () => {
  browser = await launchChromium()
})
after(async () => {
  await browser.close()
  rmSync(folder, {recursive: true, force: true})
})

async function visit(file: string, width: number, scheme: 'light' | 'dark' = 'light'): Promise<Visit> {
  const page = await browser.newPage()
  const complaints: string[] = []
  const requests: string[] = []
  const url = pathToFileURL(file).href
  page.on('console', message => complaints.push(message.text()))
  page.on('pageerror', error => complaints.push(String(error)))
  page.on('dialog', dialog => {
    complaints.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', request => {
    if (request.url() !== url && request.url() !== 'data:,') requests.push(request.url())
  })
  await page.setViewport({width, height: 800})
  await page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: scheme}])
  await page.goto(url, {waitUntil: 'networkidle0'})
  return {page, complaints, requests, [Symbol.asyncDispose]: async () => page.close()}
}

/** A number that an expression gives in the page. */
async function count(page: Page, expression: string): Promise<number> {
  return Number(await page.evaluate(expression))
}

void describe('the page of a real archive', () => {
  const file = join(folder, 'orders.html')
  let groups = 0
  let buckets = 0

  before(() => {
    const argv = ['bin/dev.js', 'stats', 'example:orders-dlq', '--html', file, '--json', '--quiet']
    const json: unknown = JSON.parse(execFileSync(process.execPath, argv, {cwd: root, encoding: 'utf8'}))
    const {result} = json as {result: {groups: unknown[]; histogram: unknown[]}}
    groups = result.groups.length
    buckets = result.histogram.length
  })

  void test('has one bar a group and one a bucket, each with a title', async () => {
    await using visited = await visit(file, 1200)
    const {page} = visited
    assert.equal(await count(page, "document.querySelectorAll('rect.bucket').length"), buckets)
    assert.equal(await count(page, "document.querySelectorAll('rect.group').length"), groups)
    assert.ok(buckets > 5 && groups > 5)
    assert.equal(await count(page, "document.querySelectorAll('rect.bucket > title').length"), buckets)
    assert.equal(await count(page, "document.querySelectorAll('svg[role=img] > title').length"), groups + 1)
    assert.equal(await count(page, "document.querySelectorAll('caption').length"), 3)
    // The largest bar fills its picture, and all of them are drawn.
    assert.equal(
      await count(page, "Math.max(...[...document.querySelectorAll('rect.group')].map(r => +r.getAttribute('width')))"),
      100,
    )
    assert.ok(
      (await count(
        page,
        "Math.max(...[...document.querySelectorAll('rect.bucket')].map(r => r.getBoundingClientRect().height))",
      )) > 100,
    )
  })

  void test('asks for nothing and says nothing', async () => {
    await using visited = await visit(file, 1200)
    assert.deepEqual(visited.requests, [])
    assert.deepEqual(visited.complaints, [])
  })

  void test('is styled, in light and in dark', async () => {
    const colours: unknown[] = []
    for (const scheme of ['light', 'dark'] as const) {
      await using visited = await visit(file, 1200, scheme)
      colours.push(await visited.page.evaluate('getComputedStyle(document.body).backgroundColor'))
    }
    assert.deepEqual(colours, ['rgb(255, 255, 255)', 'rgb(13, 17, 23)'])
  })

  for (const width of [375, 768, 1200]) {
    void test(`can be read at ${width} px: nothing beside the screen, no small print`, async () => {
      await using visited = await visit(file, width)
      const {page} = visited
      assert.ok((await count(page, 'document.documentElement.scrollWidth')) <= width)
      const smallest =
        "Math.min(...[...document.querySelectorAll('td,th,p,h1,h2,span')].map(e => parseFloat(getComputedStyle(e).fontSize)))"
      assert.ok((await count(page, smallest)) >= 13)
      const outside = `[...document.querySelectorAll('td,p,h1,svg')].filter(e => e.getBoundingClientRect().right > ${width} + 1).length`
      assert.equal(await count(page, outside), 0)
    })
  }
})

void describe('a page of hostile text', () => {
  const file = join(folder, 'hostile.html')

  before(() => writeFileSync(file, renderStatsPage(hostileStatsPage())))

  void test('shows it and runs none of it', async () => {
    await using visited = await visit(file, 375)
    const {page, complaints, requests} = visited
    assert.deepEqual(complaints, [])
    assert.deepEqual(requests, [])
    assert.equal(await page.evaluate('document.title'), await page.evaluate("document.querySelector('h1').textContent"))
    assert.equal(await count(page, "'hit' in window ? 1 : 0"), 0)
    assert.equal(
      await count(page, "document.querySelectorAll('script,img,iframe,object,embed,a,form,base,video').length"),
      0,
    )
    assert.equal(await count(page, "document.querySelectorAll('meta').length"), 4)
    const handlers =
      "[...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => /^on|style|^href/.test(a.name)) && e.localName !== 'link').length"
    assert.equal(await count(page, handlers), 0)
    const text = String(await page.evaluate('document.body.textContent'))
    for (const hostile of HOSTILE_TEXTS) assert.ok(text.includes(hostile), hostile)
    assert.ok((await count(page, 'document.documentElement.scrollWidth')) <= 375)
  })

  void test('would not run a script that got in: the policy forbids it', async () => {
    const broken = join(folder, 'broken.html')
    const html = readFileSync(file, 'utf8').replace(
      '<main>',
      '<main><script>window.hit = 1</script><img src="https://example.com/x">',
    )
    writeFileSync(broken, html)
    await using visited = await visit(broken, 375)
    assert.equal(await count(visited.page, "'hit' in window ? 1 : 0"), 0)
    assert.ok(visited.complaints.some(text => text.includes('Content Security Policy')))
  })
})
