// The API page: every operation is listed, and a call made from it answers.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { accessibility, BASE, launch, open } from './browser.mjs';

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

test('lists every operation of openapi.json and sends one', { timeout: 60_000 }, async () => {
  const { page, context, seen } = await open(browser, '/docs');
  const card = page.locator('article', { has: page.locator('code', { hasText: /^\/v1\/grad$/ }) });
  await card.getByRole('button').first().click();
  await card.getByRole('button', { name: 'Send' }).click();
  await card.getByText('5.010007503399555').waitFor();
  assert.equal(await card.getByRole('status').locator('b').textContent(), '200');
  const { paths } = await (await fetch(`${BASE}/openapi.json`)).json();
  const listed = await page.locator('main article').count();
  const methods = ['get', 'post', 'put', 'delete', 'patch'];
  const known = Object.values(paths).flatMap((item) => Object.keys(item).filter((key) => methods.includes(key)));
  assert.equal(listed, known.length);
  assert.deepEqual(await accessibility(page), []);
  await page.getByRole('button', { name: /dark/ }).click();
  assert.deepEqual(await accessibility(page), []);
  assert.deepEqual([seen.errors, seen.elsewhere], [[], []]);
  await context.close();
});
