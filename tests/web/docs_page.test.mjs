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

test('fills in a request of every verb that answers as it stands', { timeout: 90_000 }, async () => {
  const { paths } = await (await fetch(`${BASE}/openapi.json`)).json();
  const verbs = Object.entries(paths).filter(([, { post }]) => post?.tags?.includes('verbs')).map(([path]) => path).filter((path) => !path.includes('{'));
  assert.ok(verbs.length >= 18);
  for (const path of verbs) {
    const body = JSON.stringify(paths[path].post.requestBody.content['application/json'].example);
    const answer = await fetch(BASE + path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
    assert.equal(answer.status, 200, `${path}: ${await answer.text()}`);
  }
  const { page, context, seen } = await open(browser, '/docs');
  const card = (path) => page.locator('article', { has: page.locator('code', { hasText: path }) });
  const root = card(/^\/v1\/root$/);
  await root.getByRole('button').first().click();
  assert.match(await root.locator('textarea').inputValue(), /jnp.cos/);
  // A header that is asked for goes as a header: the answer is a run.
  await root.locator('label', { hasText: 'Prefer' }).locator('input').fill('respond-async');
  await root.getByRole('button', { name: 'Send' }).click();
  await root.getByRole('status').getByText('202').waitFor();
  const [id] = /run_\w+/.exec(await root.locator('pre').textContent());
  const runs = card(/^\/v1\/runs\/\{run_id\}$/).first();
  await runs.getByRole('button').first().click();
  await runs.locator('label', { hasText: 'run_id' }).locator('input').fill(id);
  await runs.getByRole('button', { name: 'Send' }).click();
  await runs.locator('pre', { hasText: id }).waitFor();
  assert.deepEqual([seen.errors, seen.elsewhere], [[], []]);
  await context.close();
});
