// A Chromium that is watched: what it says on its console, where it asks, how long it blocks.

import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';

const require = createRequire(new URL('../../web/package.json', import.meta.url));
const { chromium } = require('playwright-core');
const AXE = require.resolve('axe-core/axe.min.js');

export const BASE = process.env.PLAYGROUND_URL;
export const [WIDTH, HEIGHT] = (process.env.PLAYGROUND_SIZE ?? '1280x860').split('x').map(Number);
export const PHONE = WIDTH < 720;

const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
];

export function launch() {
  const executablePath = process.env.CHROMIUM;
  if (!executablePath || !existsSync(executablePath)) throw new Error('CHROMIUM names no browser');
  return chromium.launch({ executablePath, args: FLAGS });
}

/** A page with its own storage, and what was seen on it. */
export async function open(browser, path = '/', { scheme = 'light', expectedStatus = [] } = {}) {
  const context = await browser.newContext({
    viewport: { width: WIDTH, height: HEIGHT },
    colorScheme: scheme,
    hasTouch: PHONE,
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const seen = { errors: [], elsewhere: [], requests: [] };
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type())) return;
    const status = /status of (\d+)/.exec(message.text())?.[1];
    // Chromium itself logs every answer over 399; those a test provokes are no fault.
    if (status && expectedStatus.includes(Number(status))) return;
    seen.errors.push(`${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => seen.errors.push(String(error)));
  page.on('request', (request) => {
    seen.requests.push(`${request.method()} ${new URL(request.url()).pathname}`);
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== BASE) {
      seen.elsewhere.push(request.url());
    }
  });
  await page.addInitScript(() => {
    globalThis.longTasks = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) globalThis.longTasks.push(entry.duration);
    }).observe({ type: 'longtask', buffered: true });
  });
  await page.goto(BASE + path);
  return { page, context, seen, player: new Player(page) };
}

/** The serious and critical findings of axe-core, as readable lines. */
export async function accessibility(page) {
  // Evaluated by the driver, which the page's Content-Security-Policy does not bind.
  const { readFileSync } = await import('node:fs');
  await page.evaluate(readFileSync(AXE, 'utf8'));
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((n) => n.target.join(' ')).slice(0, 3).join('; ')}`);
}

/** What a user does on the playground. */
export class Player {
  constructor(page) {
    this.page = page;
    this.editor = page.locator('.cm-content');
    this.result = page.getByRole('article', { name: 'Result' });
    this.number = this.result.locator('output');
  }

  /** On a phone the parts are tabs. */
  async show(part) {
    if (PHONE) await this.page.locator('nav.tabs').getByRole('button', { name: part }).click();
  }

  /** Replace the source, as by pasting. */
  async write(source) {
    await this.show('Function');
    await this.editor.click();
    await this.page.keyboard.press('ControlOrMeta+a');
    await this.page.keyboard.insertText(source);
  }

  async verb(name) {
    await this.show('Function');
    await this.page.getByRole('radio', { name, exact: true }).click();
  }

  async set(parameter, value) {
    await this.show('Function');
    await this.page.getByRole('textbox', { name: `Value of ${parameter}` }).fill(String(value));
  }

  async run() {
    await this.show('Function');
    await this.page.getByRole('button', { name: /^Run/ }).click();
  }

  async example(title) {
    await this.page.getByRole('button', { name: /gallery/ }).click();
    // The first example whose title begins so.
    const named = this.page.getByRole('dialog').locator('.title').filter({ hasText: title });
    await named.first().click();
  }

  async results() {
    await this.show('Results');
    await this.result.waitFor();
  }

  /** The text of every number in the result, with plain signs. */
  async numbers() {
    await this.results();
    return (await this.number.allTextContents()).map((text) => text.replace('−', '-').trim());
  }

  async until(what, wanted) {
    const end = Date.now() + 30_000;
    let got;
    do {
      got = await what();
      if (wanted(got)) return got;
      await this.page.waitForTimeout(60);
    } while (Date.now() < end);
    throw new Error(`never came: last ${JSON.stringify(got)}`);
  }
}
