// Pictures of the playground for the README: `npm run screenshots [URL]` beside a running server.

import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const base = process.argv[2] ?? 'http://127.0.0.1:8000';
const out = fileURLToPath(new URL('../../docs/images/', import.meta.url));
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const args = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
];

const browser = await chromium.launch({ executablePath, args });

async function example(page, title) {
  await page.getByRole('button', { name: /gallery/ }).click();
  await page.getByRole('dialog').locator('.title').filter({ hasText: title }).first().click();
  await page.locator('article[aria-label=Result]').waitFor({ state: 'attached' });
  await page.waitForLoadState('networkidle');
}

async function shot(name, viewport, colorScheme, arrange) {
  const page = await browser.newPage({ viewport, colorScheme });
  await page.goto(base);
  await arrange(page);
  await page.waitForTimeout(700);
  await page.screenshot({ path: `${out}${name}.png` });
  await page.close();
}

const rows = (page) => page.locator('[role=option]').first().waitFor({ timeout: 60_000 });

mkdirSync(out, { recursive: true });
await shot('playground', { width: 1280, height: 860 }, 'light', async (page) => {
  await example(page, 'Rosenbrock');
  await page.locator('.frame canvas').first().waitFor();
  await page.locator('.cm-line').nth(1).hover();
});
await shot('stages', { width: 1280, height: 560 }, 'dark', async (page) => {
  await example(page, 'Black–Scholes');
  await page.getByRole('button', { name: 'Side by side' }).click();
  await page.getByRole('listbox', { name: /^HLO,/ }).waitFor();
  await page.locator('.cm-line').nth(2).hover();
});
await shot('minimise', { width: 1280, height: 690 }, 'dark', async (page) => {
  await example(page, 'BFGS');
  await page.getByRole('application', { name: /the way of the solver/ }).waitFor();
  await rows(page);
  await page.locator('.cm-line').nth(2).hover();
  await page.waitForTimeout(900);
});
await shot('sparse', { width: 1280, height: 720 }, 'light', async (page) => {
  await example(page, 'log1p of a sparse');
  await rows(page);
});
await shot('phone', { width: 390, height: 780 }, 'light', async (page) => {
  await example(page, 'Himmelblau');
  await page.locator('nav.tabs').getByRole('button', { name: 'Results' }).click();
  await page.locator('.frame canvas').first().waitFor();
});
await browser.close();
