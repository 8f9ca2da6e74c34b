// What the page does not take, and what it says then: links, files, numbers, functions without end.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { accessibility, BASE } from './browser.mjs';
import { scenario } from './scenario.mjs';

const linkOf = (state) => `/#s=${deflateRawSync(typeof state === 'string' ? state : JSON.stringify(state)).toString('base64url')}`;
const state = { v: 1, source: 'x * y', verb: 'grad', settings: {}, args: [{ n: 'x', v: 1 }, { n: 'y', v: 2 }], range: [-5, 5] };

scenario('says why a link is not opened, and stays usable', async ({ page, player, seen }) => {
  const links = [
    ['/#s=AAAA', 'damaged'],
    [linkOf({ ...state, args: [{ n: 'x', v: 1 }, { n: 'x', v: 2 }] }), 'it gives “x” twice'],
    [linkOf({ ...state, verb: '__proto__' }), 'asks for “__proto__”'],
    [linkOf({ ...state, settings: { wrt: ['x', 'x'] } }), 'setting “wrt”'],
    [linkOf('null'), 'holds no function'],
    [linkOf({ ...state, settings: { device: 'tpu:9' } }), 'device “tpu:9”'],
    [linkOf({ ...state, settings: { wrt: ['nope'] } }), '“nope”'],
    [linkOf({ ...state, settings: { fields: { holomorphic: true } } }), '“holomorphic”'],
    [linkOf({ ...state, args: [{ n: 'x', v: 1 }] }), 'does not give “y”'],
    [linkOf({ ...state, range: [null, 1] }), 'range of its plots'],
    [linkOf({ ...state, range: [-1e308, 1e308] }), 'range of its plots'],
    [linkOf(`"${'a'.repeat(30 << 20)}"`), 'more than a page holds'],
    [linkOf(`{"v":1,"source":"x","verb":"grad","args":[{"n":"x","v":${'['.repeat(9000)}${']'.repeat(9000)}}]}`), 'damaged'],
  ];
  await player.results();
  for (const [link, says] of links) {
    await page.evaluate((hash) => (location.hash = hash), link.slice(1));
    await page.getByRole('alert').getByText(says).waitFor();
  }
  await player.write('x^2');
  await player.set('x', 3);
  await player.run();
  await player.until(() => player.numbers(), ([first]) => first === '6');
  // What is no link of this page is none of no link: nothing runs.
  const before = seen.requests.length;
  await page.goto('about:blank');
  await page.goto(BASE + linkOf('null'));
  await page.getByRole('alert').getByText('holds no function').waitFor();
  await page.waitForTimeout(500);
  assert.deepEqual(seen.requests.slice(before).filter((request) => request === 'POST /v1/grad'), []);
}, { expectedStatus: [422] });

scenario('runs nothing while a field holds no number, and names the field', async ({ page, player, seen }) => {
  await player.write('lambda x, v, M: x * jnp.sum(v) * jnp.sum(M)');
  const field = (name) => page.getByRole('textbox', { name, exact: true });
  await field('Value of x').waitFor();
  await page.getByRole('combobox', { name: 'Form of M' }).selectOption('matrix');
  const run = page.getByRole('button', { name: /^Run/ });
  const said = page.locator('#not-run');
  const sent = () => seen.requests.filter((request) => request === 'POST /v1/grad').length;
  for (const [name, place] of [['Value of x', 'x'], ['v[1]', 'v'], ['M[0, 1]', 'M'], ['Length of v', 'v']]) {
    for (const text of ['abc', '1,5', '１２', '', '1e400']) {
      await field(name).fill(text);
      await said.getByText(place, { exact: true }).waitFor();
      assert.equal(await field(name).getAttribute('aria-invalid'), 'true');
      assert.equal(await run.isDisabled(), true);
    }
    assert.deepEqual(await accessibility(page), []);
    const before = sent();
    await page.keyboard.press('ControlOrMeta+Enter');
    await page.waitForTimeout(100);
    assert.equal(sent(), before);
    await field(name).fill('3');
    await said.waitFor({ state: 'detached' });
    assert.equal(await field(name).getAttribute('aria-invalid'), 'false');
  }
  await player.run();
  // The gradient in x: (1 + 3 + 3) times the sum of M, which took over its vector as one row.
  await player.until(() => player.numbers(), ([first]) => first === String(7 * (1 + 3 + 3)));

  await player.verb('Push forward');
  await page.getByRole('textbox', { name: /^tangents/ }).fill('[1,');
  await said.getByText('tangents').waitFor();
  await page.getByRole('combobox', { name: 'Form of v' }).selectOption('JSON');
  await page.getByRole('textbox', { name: /^tangents/ }).fill('');
  await page.getByRole('textbox', { name: 'JSON value of v' }).fill('[[1, 2');
  await said.getByText('Not valid JSON yet.').waitFor();
  await player.verb('Minimise');
  await page.getByRole('textbox', { name: 'JSON value of v' }).fill('[1, 2]');
  await page.getByRole('textbox', { name: 'max steps' }).fill('many');
  await said.getByText('max steps').waitFor();
  await player.verb('Gradient');
  await said.waitFor({ state: 'detached' });
  // A file that is not given is no default either.
  await page.getByRole('combobox', { name: 'Form of x' }).selectOption('file');
  await said.getByText('No file is given yet.').waitFor();
  await page.getByRole('combobox', { name: 'Form of x' }).selectOption('number');
  // An example starts clean.
  await field('Value of x').fill('abc');
  await said.waitFor();
  await player.example('Sine');
  await said.waitFor({ state: 'detached' });
}, { expectedStatus: [422] });

scenario('asks a server that is away, or refuses to read, once an edit', async ({ page, player, seen }) => {
  await player.results();
  const asked = () => seen.requests.filter((request) => request === 'POST /v1/functions').length;
  for (const [status, detail] of [[503, 'draining'], [413, 'too large']]) {
    const body = JSON.stringify({ type: 'about:blank', title: 'Not now', status, detail });
    await page.route('**/v1/functions', (route) => route.fulfill({ status, body, contentType: 'application/problem+json' }));
    const before = asked();
    await player.write(`x * ${status}`);
    await page.getByRole('alert').getByText(detail).waitFor();
    await page.waitForTimeout(1000);
    assert.ok(asked() - before <= 2, `${asked() - before} times`);
    await page.unroute('**/v1/functions');
    // It is asked again by the next run.
    await player.run();
    await player.until(() => player.numbers(), ([first]) => first === String(status));
  }
}, { expectedStatus: [422, 503, 413] });

scenario('asks once for a form of the program that does not come, and again by hand', async ({ page, player, seen }) => {
  await player.results();
  const asked = () => seen.requests.filter((request) => /\/ir\/hlo$/.test(request)).length;
  const body = JSON.stringify({ type: 'about:blank', title: 'Not now', status: 503, detail: 'draining' });
  await page.route('**/ir/hlo', (route) => route.fulfill({ status: 503, body, contentType: 'application/problem+json' }));
  await page.getByRole('tab', { name: 'HLO', exact: true }).click();
  await page.getByRole('alert').getByText('draining').waitFor();
  await page.waitForTimeout(500);
  assert.equal(asked(), 1);
  await page.unroute('**/ir/hlo');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('listbox', { name: /^HLO/ }).waitFor();
  // The row that the list names to a screen reader is one that stands there, wherever it opens.
  assert.deepEqual(await accessibility(page), []);
}, { expectedStatus: [503] });

scenario('shows the program of the result, and of no other call', async ({ page, player }) => {
  await player.write('lambda x, y: (x - 2)**2 + 10*y');
  await player.set('x', 1);
  await player.set('y', 3);
  await player.run();
  const id = player.result.locator('code').filter({ hasText: /^prg_/ });
  const shown = () => id.textContent();
  await player.until(() => player.numbers(), ([first]) => first === '-2');
  const gradient = await shown();
  // A cost that is long in coming keeps nothing of the call before on the page.
  await page.route(/\/v1\/programs\/prg_\w+$/, async (route) => {
    await new Promise((resume) => setTimeout(resume, 1500));
    await route.continue();
  });
  const read = page.waitForRequest(/\/ir\/jaxpr$/);
  await player.verb('Value');
  await player.run();
  await player.until(() => player.numbers(), ([first]) => first === '31');
  const value = await shown();
  assert.notEqual(value, gradient);
  assert.ok((await read).url().includes(value));
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  const of = page.waitForRequest(/\/ir\/jaxpr$/);
  await player.verb('Minimise');
  await player.run();
  await player.result.getByText('converged').or(player.result.getByText(/limit|stopped|unbounded/)).first().waitFor();
  assert.ok((await of).url().includes(await shown()));
}, { expectedStatus: [422] });

scenario('takes up the events of a run where they broke off', async ({ page, player }) => {
  await player.write('lambda x: (x - 2)**2');
  await player.verb('Minimise');
  const taken = [];
  await page.route('**/v1/runs/*/events', (route) => {
    taken.push(route.request().headers()['last-event-id']);
    if (taken.length > 2) return route.continue();
    if (taken.length > 1) return route.fulfill({ body: '', contentType: 'text/event-stream' });
    const run = /run_\w+/.exec(route.request().url())[0];
    const body = `id: 1\nevent: status\ndata: {"run":"${run}","status":"running"}\n\n`;
    return route.fulfill({ body, contentType: 'text/event-stream' });
  });
  await player.run();
  const course = page.getByRole('article', { name: 'Run', exact: true });
  await course.getByRole('status').getByText('connection lost, trying again').waitFor();
  await player.set('x', 7);
  await course.getByText('of the former inputs').waitFor();
  await player.result.getByText('converged').waitFor();
  await course.getByRole('status').getByText('done').waitFor();
  assert.deepEqual(taken, [undefined, '1', '1']);
  // A refusal goes with what was refused.
  const steps = page.getByRole('textbox', { name: 'max steps' });
  await steps.fill('-1');
  await player.run();
  await page.getByRole('alert').first().waitFor();
  await steps.fill('50');
  await page.getByRole('alert').first().waitFor({ state: 'detached' });
}, { expectedStatus: [422] });

scenario('keeps the tangent of a name with its name', async ({ page, player }) => {
  await player.write('lambda x, y: x * y**2');
  await player.set('x', 3);
  await player.set('y', 5);
  await player.verb('Push forward');
  const tangents = page.getByRole('textbox', { name: /^tangents/ });
  await tangents.fill('[1, 10]');
  await player.run();
  await player.until(() => player.numbers(), ([, second]) => second === '325');
  await player.write('lambda y, x: x * y**2');
  await player.until(() => tangents.inputValue(), (text) => text === '[10,1]');
  await player.run();
  await player.until(() => player.numbers(), ([, second]) => second === '325');
  await page.getByRole('button', { name: 'Differentiate with respect to y' }).click();
  assert.equal(await tangents.inputValue(), '[1]');
  await player.run();
  await player.until(() => player.numbers(), ([, second]) => second === '25');
}, { expectedStatus: [422] });

scenario('keeps every number that is pasted, and every digit of a table', async ({ page, player }) => {
  await player.write('jnp.sum(v)');
  await page.getByRole('textbox', { name: 'v[0]' }).waitFor();
  await player.verb('Value');
  const paste = async (cell, text) => {
    await page.evaluate((copied) => navigator.clipboard.writeText(copied), text);
    await page.getByRole('textbox', { name: cell, exact: true }).focus();
    await page.keyboard.press('ControlOrMeta+v');
  };
  await paste('v[0]', '1\n2\n-inf\n');
  await page.getByRole('textbox', { name: 'v[2]' }).waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'v[2]' }).inputValue(), '-Infinity');
  await paste('v[0]', '1, 2, x');
  await page.getByRole('alert').getByText('field 3: “x” is not a number').waitFor();
  await paste('v[0]', Array.from({ length: 100_000 }, (_, i) => i).join('\n'));
  await page.getByText('pasted numbers').waitFor();
  await page.getByText('f64[100000]').first().waitFor();
  await player.run();
  // Large arguments keep their results at the server; a few numbers are shown all the same.
  await player.until(() => player.numbers(), ([first]) => first === '4999950000');
  // A link names them by their id; whoever opens it sees what they are, and what they answer with.
  await player.verb('Gradient');
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByText('Link copied').waitFor();
  await page.reload();
  await page.getByText('f64[100000]').first().waitFor();
  await player.run();
  await player.result.getByText('Kept at the server').waitFor();
}, { expectedStatus: [422] });

scenario('reads tables of what is not finite, and a million cells without a pause', async ({ page, player }) => {
  await player.write('jnp.sum(jnp.isfinite(A)) * 1.0');
  const upload = page.getByLabel('Upload a file for A');
  await upload.waitFor({ state: 'attached' });
  const give = (name, text) => upload.setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });
  await give('a.csv', 'nan,inf\n-inf,1\n');
  await page.getByRole('textbox', { name: 'A[1, 0]' }).waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'A[0, 1]' }).inputValue(), 'Infinity');
  await give('named.csv', 'a,b\n7,8\n');
  await page.getByRole('status').getByText('Line 1 is taken as headings.').waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'A[1]' }).inputValue(), '8');
  await page.waitForLoadState('networkidle');
  await page.evaluate(() => (globalThis.longTasks.length = 0));
  const row = Array.from({ length: 1000 }, (_, j) => j / 8).join(',');
  const folder = mkdtempSync(join(tmpdir(), 'playground-'));
  const file = join(folder, 'million.csv');
  writeFileSync(file, `${row}\n`.repeat(1000));
  await upload.setInputFiles(file);
  await page.getByText('f64[1000,1000]').first().waitFor();
  const longest = Math.max(0, ...(await page.evaluate(() => globalThis.longTasks)));
  assert.ok(longest < 200, `${longest} ms`);
  rmSync(folder, { recursive: true });
  await player.verb('Value');
  await player.run();
  await player.until(() => player.numbers(), ([first]) => first === '1000000');
}, { expectedStatus: [422] });

scenario('says what is wrong with a file, as the file it is', async ({ page, player }) => {
  await player.write('lambda A: jnp.sum(A)');
  const upload = page.getByLabel('Upload a file for A');
  await upload.waitFor({ state: 'attached' });
  const noise = Buffer.from(Array.from({ length: 60 }, (_, i) => (i * 37 + 200) % 256));
  const matrix = '%%MatrixMarket matrix coordinate real general\n999999999 999999999 1\n1 1 2.0\n';
  for (const [name, buffer, says] of [
    ['a.npy', noise, 'not a .npy file'], ['a.npz', noise, '.npz archive cannot be read'], ['a.mtx.gz', noise, 'Matrix Market'],
    ['x.gz', noise, '“x.gz” is not a .npy'], ['a.csv', Buffer.from('1,2\n3,1,5'), 'Line 2 has 3 fields'], ['big.mtx', Buffer.from(matrix), 'more than this server holds'],
  ]) {
    await upload.setInputFiles({ name, mimeType: 'application/octet-stream', buffer });
    const alert = page.getByRole('alert').filter({ hasText: says });
    await alert.waitFor();
    assert.doesNotMatch(await alert.textContent(), /JSON/, name);
  }
  // What was refused has not come into the row.
  assert.equal(await page.getByText('big.mtx').count(), 0);
  // Nor is the value before it used in its place, until somebody says so.
  const run = page.getByRole('button', { name: /^Run/ });
  assert.equal(await run.isDisabled(), true);
  await page.getByRole('button', { name: 'Use what stands here' }).click();
  await page.locator('#not-run').waitFor({ state: 'detached' });
  assert.equal(await run.isDisabled(), false);
  assert.equal(await page.getByRole('alert').count(), 0);
}, { expectedStatus: [422] });

scenario('stays in its width with names of any length', async ({ page, player }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const name = `a_${'very_'.repeat(40)}long_name`;
  await page.locator('.cm-content').click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText(`lambda ${name}, b: ${name}**2 * b`);
  await page.getByText(name, { exact: true }).first().waitFor();
  await page.getByRole('button', { name: 'vmap' }).click();
  await page.getByRole('button', { name: 'vmap' }).click();
  await player.run();
  for (const part of ['Function', 'Results', 'Program']) {
    await page.locator('nav.tabs').getByRole('button', { name: part }).click();
    if (part === 'Results') await page.getByRole('application', { name: /Contour/ }).waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, part);
  }
}, { expectedStatus: [422] });

scenario('tells of an error once, and of a function without end in words', async ({ page, player }) => {
  const alerts = page.getByRole('alert');
  const endless = ['def f(x):\n    while True:\n        x = x + 1\n    return x', 'def f(x):\n    while True:\n        pass\n    return x'];
  for (const source of [...endless, 'lambda x: x + unknown_thing', 'lambda x, x: x']) {
    await player.write(source);
    await alerts.first().waitFor();
    await player.run();
    await page.waitForTimeout(400);
    assert.equal(await alerts.count(), 1, source);
    assert.match(await alerts.textContent(), /line \d/);
    await player.write('x + 1');
    await alerts.first().waitFor({ state: 'detached' });
  }
  // What is not finite is told by one live region, not by one within another.
  await player.write('lambda x: jnp.log(x - x)');
  await player.run();
  const told = page.locator('[role=status], [aria-live]').filter({ hasText: 'Not a finite number' });
  await told.first().waitFor();
  assert.equal(await told.count(), 1);
  // One that only running finds out.
  await player.write('lambda x: lax.while_loop(lambda y: y > -1, lambda y: y + 1, x)');
  await player.verb('Value');
  await page.locator('.cm-ghost').first().waitFor();
  await player.run();
  const cancel = page.getByRole('button', { name: 'Cancel', exact: true });
  await cancel.dblclick();
  await page.getByRole('button', { name: /^Run/ }).waitFor();
  await page.getByRole('status').getByText('Cancelled before').waitFor();
  await player.write('x * 2');
  await player.set('x', 4);
  await player.run();
  await player.until(() => player.numbers(), ([first]) => first === '8');
}, { expectedStatus: [422] });
