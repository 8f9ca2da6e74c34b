// The playground as a user drives it, against a real server, at the size the environment names.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { accessibility, BASE, PHONE } from './browser.mjs';
import { scenario } from './scenario.mjs';

scenario('opens with a first example that has run, and nothing for axe to find', async ({ page, player }) => {
  assert.match((await player.numbers())[0], /^-0\.0704932/);
  await page.locator('.curve canvas').first().waitFor();
  await player.show('Program');
  await page.locator('[role=option]').first().waitFor();
  for (const part of ['Function', 'Results', 'Program']) {
    await player.show(part);
    assert.deepEqual(await accessibility(page), []);
  }
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true);
});

scenario('is as accessible in the dark, in its dialogs too', async ({ page, player }) => {
  await player.results();
  await page.getByRole('button', { name: /gallery/ }).click();
  assert.deepEqual(await accessibility(page), []);
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Code', exact: true }).click();
  assert.deepEqual(await accessibility(page), []);
}, { scheme: 'dark' });

scenario('types, shows ghost shapes, runs, edits, turns stale', async ({ page, player }) => {
  await player.write('');
  await page.keyboard.type('x**2 + sin(x)', { delay: 8 });
  await page.locator('.cm-ghost', { hasText: 'f64[]' }).waitFor();
  await player.set('x', 3);
  await player.run();
  await player.until(() => player.numbers(), ([first]) => first === '5.010007503399555');
  await player.write('x**2 + sin(2*x)');
  await player.show('Results');
  await page.getByText('stale', { exact: true }).waitFor();
  await player.run();
  await player.until(() => player.numbers(), ([first]) => Math.abs(Number(first) - (6 + 2 * Math.cos(6))) < 1e-12);
  assert.equal(await page.getByText('stale', { exact: true }).count(), 0);
  // What is half typed is refused, and Chromium logs that.
}, { expectedStatus: [422] });

scenario('follows a moved input without being asked', async ({ page, player }) => {
  await player.write('x^3');
  await page.getByRole('textbox', { name: 'Value of x' }).waitFor();
  await player.set('x', 2);
  await player.run();
  await player.until(() => player.numbers(), ([first]) => first === '12');
  await player.show('Function');
  await player.set('x', 5);
  await player.until(() => player.numbers(), ([first]) => first === '75');
});

scenario('shows every digit of integers', async ({ player }) => {
  await player.write('lambda x: (jnp.int64(9007199254740993), jnp.array([18446744073709551615, 1], dtype=jnp.uint64))');
  await player.verb('Value');
  await player.run();
  await player.until(() => player.numbers(), ([first]) => first === '9007199254740993');
  assert.equal(await player.result.locator('li').first().getAttribute('title'), '18446744073709551615');
  await player.result.getByText('18446744073709551615', { exact: true }).waitFor();
}, { once: true, expectedStatus: [422] });

scenario('underlines what the server refuses, where it says', async ({ page, player }) => {
  await player.write('def f(x):\n    return x + undefined_thing');
  const underlined = page.locator('.cm-lintRange-error');
  await underlined.waitFor();
  assert.equal(await underlined.textContent(), 'undefined_thing');
  assert.match(await page.getByRole('alert').textContent(), /line 2/);
  await player.write('def f(x):\n    return x + 1.0');
  await underlined.waitFor({ state: 'detached' });
}, { expectedStatus: [422] });

scenario('completes and explains names from the registry of the server', async ({ page, player }) => {
  await player.results();
  await page.waitForLoadState('networkidle');
  await player.write('');
  await page.keyboard.type('x + jnp.logadd', { delay: 8 });
  await page.locator('.cm-tooltip-autocomplete li', { hasText: 'logaddexp' }).first().waitFor();
  await page.keyboard.press('Escape');
  await player.write('jnp.tanh(x)');
  await page.locator('.cm-line').getByText('tanh').hover();
  await page.locator('.cm-note code', { hasText: 'jnp.tanh(' }).waitFor();
}, { once: true, expectedStatus: [422] });

scenario('links a source line to its instructions in every stage, and back', async ({ page, player }) => {
  await player.write('def f(x):\n    a = jnp.sin(x)\n    b = jnp.exp(a)\n    return a * b');
  await page.locator('.cm-ghost').first().waitFor();
  await player.run();
  await player.results();
  for (const [stage, word] of [['jaxpr', / exp/], ['StableHLO', /exponential/], ['HLO', /exponential/]]) {
    await player.show('Program');
    await page.getByRole('tab', { name: stage, exact: true }).click();
    const exp = page.locator('[role=option][data-source="3"]').filter({ hasText: word }).first();
    await exp.waitFor();
    await exp.scrollIntoViewIfNeeded();
    await exp.hover();
    assert.match(await page.locator('.cm-line.cm-linked').textContent(), /jnp\.exp/);
    if (PHONE) continue;
    await page.locator('.cm-line').nth(2).hover();
    const linked = page.locator('[role=option].linked');
    await linked.first().waitFor();
    const sources = await linked.evaluateAll((rows) => rows.map((row) => row.dataset.source));
    assert.deepEqual([...new Set(sources)], ['3']);
  }
});

scenario('pins a program and shows what differs in the next', async ({ page, player }) => {
  await player.write('jnp.sum(jnp.sin(x))');
  await player.run();
  await player.results();
  await player.show('Program');
  await page.locator('[role=option]').first().waitFor();
  await page.getByRole('button', { name: 'Pin' }).click();
  await player.write('jnp.sum(jnp.cos(x))');
  await page.locator('.cm-ghost').first().waitFor();
  await player.run();
  await player.results();
  await player.show('Program');
  await page.getByRole('button', { name: 'Diff', exact: true }).click();
  await page.locator('.diff .add').first().waitFor();
  await page.locator('.diff .cut').first().waitFor();
  // A form that nobody had looked at when it was pinned is compared too.
  await page.getByRole('tab', { name: 'StableHLO', exact: true }).click();
  await page.locator('.diff .cut').filter({ hasText: 'stablehlo' }).first().waitFor();
}, { once: true });

/** A .npy file of float64, version 1.0. */
function npy(shape, values) {
  const text = `{'descr': '<f8', 'fortran_order': False, 'shape': (${shape.join(', ')},), }`;
  const header = text.padEnd(Math.ceil((10 + text.length + 1) / 64) * 64 - 11) + '\n';
  const head = Buffer.from([0x93, ...Buffer.from('NUMPY'), 1, 0, header.length & 255, header.length >> 8]);
  return Buffer.concat([head, Buffer.from(header), Buffer.from(new Float64Array(values).buffer)]);
}

scenario('takes dropped and chosen files', async ({ page, player }) => {
  await player.write('jnp.sum(A @ A)');
  const upload = page.getByLabel('Upload a file for A');
  await upload.waitFor({ state: 'attached' });
  await upload.setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer: Buffer.from('1,2\n3,4\n') });
  await page.getByRole('textbox', { name: 'A[1, 0]' }).waitFor();
  await player.verb('Value');
  await player.run();
  await player.until(() => player.numbers(), ([first]) => first === '54');
  await player.show('Function');
  const values = Array.from({ length: 900 }, (_, i) => (i % 31 === 0 ? 2 : 0));
  await upload.setInputFiles({ name: 'big.npy', mimeType: 'application/octet-stream', buffer: npy([30, 30], values) });
  await page.getByText('f64[30,30]').first().waitFor();
  await player.run();
  await player.until(() => player.numbers(), ([first]) => first === '120');
});

scenario('draws a matrix as a heat map that can be read', async ({ page, player }) => {
  await player.example('The Jacobian of softmax');
  await player.results();
  const map = page.getByRole('application', { name: /Heat map of J/ });
  await map.hover({ position: { x: 8, y: 8 } });
  await page.getByText('[0, 0]', { exact: true }).waitFor();
  await map.focus();
  await page.keyboard.press('ArrowDown');
  await page.getByText('[1, 0]', { exact: true }).waitFor();
});

scenario('draws a function of two numbers, and moves its point', async ({ page, player }) => {
  await player.example('Rosenbrock');
  await player.results();
  const contour = page.getByRole('application', { name: /Contour over x and y/ });
  await contour.scrollIntoViewIfNeeded();
  const before = await player.numbers();
  await contour.click({ position: { x: 120, y: 60 } });
  await player.until(() => player.numbers(), (now) => String(now) !== String(before));
});

scenario('says which line made a not-a-number', async ({ page, player }) => {
  await player.example('A NaN trap');
  await player.results();
  const line = page.getByRole('status').getByRole('button', { name: 'line 2' }).first();
  await line.waitFor();
  await page.getByRole('status').getByText('exp of 1000').waitFor();
  await line.focus();
  assert.match(await page.locator('.cm-line.cm-linked').textContent(), /exp/);
});

scenario('checks a gradient against finite differences', async ({ page, player }) => {
  await player.example('Black–Scholes');
  await player.results();
  await page.getByRole('button', { name: /finite differences/ }).click();
  await page.getByText('They agree').waitFor();
}, { once: true });

scenario('tells whether a program was compiled, and why', async ({ page, player }) => {
  const unique = `x * ${Math.random()}`;
  await player.write(unique);
  await page.locator('.cm-ghost').first().waitFor();
  await player.run();
  await player.results();
  await player.result.getByText(/Compiled for this call\..*the source/).waitFor();
  await player.run();
  await player.show('Results');
  await player.result.getByText(/Compiled before: it was in memory/).waitFor();
  await player.result.getByRole('img', { name: /^Time:.*execute/ }).waitFor();
}, { once: true });

scenario('shares its whole state; a shared link traces and never runs', async ({ page, player, context }) => {
  await player.write('def f(u, v=2.0):\n    return jnp.sum(u**2) * v  # “shared”');
  await page.getByRole('combobox', { name: 'Form of u' }).selectOption('vector');
  await player.verb('Hessian');
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByText(/Link/).waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(link.startsWith(`${BASE}/#s=`));

  const other = await context.newPage();
  const asked = [];
  other.on('request', (request) => request.method() === 'POST' && asked.push(new URL(request.url()).pathname));
  await other.goto(link);
  await other.locator('.cm-ghost').first().waitFor();
  await other.waitForTimeout(600);
  assert.deepEqual([...new Set(asked)].sort(), ['/v1/abstract_eval', '/v1/functions']);
  assert.match(await other.locator('.cm-content').textContent(), /“shared”/);
  assert.equal(await other.getByRole('radio', { name: 'Hessian', exact: true }).getAttribute('aria-checked'), 'true');
  assert.equal(await other.getByRole('textbox', { name: 'u[2]' }).inputValue(), '3');
});

scenario('gives code that runs', async ({ page, player }) => {
  await player.write('def f(s):\n    return jnp.sum(jnp.where(s > 0, s**3, 0.0))  # it\'s "quoted"');
  await page.getByRole('combobox', { name: 'Form of s' }).selectOption('vector');
  await page.locator('.cm-ghost').first().waitFor();
  await page.getByRole('button', { name: 'Code', exact: true }).click();
  const dialog = page.getByRole('dialog');
  const codeFor = async (language) => {
    await dialog.getByRole('tab', { name: language, exact: true }).click();
    return dialog.locator('pre').textContent();
  };
  const run = (program, args, input) => execFileSync(program, args, { input, encoding: 'utf8', timeout: 60_000 });
  const numbers = (text) => JSON.parse(text);
  assert.deepEqual(numbers(run('sh', ['-c', await codeFor('curl')])).result, [3, 12, 27]);
  assert.deepEqual(numbers(run(process.env.PYTHON, ['-'], await codeFor('Python'))), [3, 12, 27]);
  assert.deepEqual(numbers(run(process.execPath, ['--input-type=module', '-'], await codeFor('JavaScript'))), [3, 12, 27]);
  for (const language of ['R', 'Julia', 'Go']) assert.match(await codeFor(language), /\/v1\/grad/);
}, { once: true });

scenario('can be driven by keyboard alone', async ({ page, player }) => {
  await player.results();
  await player.show('Function');
  const focused = (name) => page.evaluate((wanted) => {
    let at = document.activeElement;
    while (at?.shadowRoot) at = at.shadowRoot.activeElement;
    return (at?.getAttribute('aria-label') ?? at?.textContent ?? '').includes(wanted);
  }, name);
  const tabTo = async (name) => {
    for (let i = 0; i < 40; i++) {
      if (await focused(name)) return;
      await page.keyboard.press('Tab');
    }
    throw new Error(`Tab never reaches ${name}`);
  };
  await tabTo('Function source');
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText('z^4');
  // Escape, then Tab, leaves the editor (Tab alone indents); an open completion takes one Escape.
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Tab');
  await tabTo('Gradient');
  await page.keyboard.press('ArrowRight');
  await page.getByRole('textbox', { name: 'Value of z' }).waitFor();
  await tabTo('Value of z');
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.type('2');
  await page.keyboard.press('ControlOrMeta+Enter');
  await player.until(() => player.numbers(), (got) => got.join() === '16,32');
});

scenario('shows where a sparse matrix has entries, and a gradient that keeps its pattern', async ({ page, player }) => {
  await player.write('lambda M: jnp.sum(jnp.log1p(M)**2)');
  const upload = page.getByLabel('Upload a file for M');
  await upload.waitFor({ state: 'attached' });
  const text = '%%MatrixMarket matrix coordinate real general\n3 4 3\n1 1 2.0\n2 4 3.0\n3 1 1.0\n';
  await upload.setInputFiles({ name: 'm.mtx', mimeType: 'text/plain', buffer: Buffer.from(text) });
  await page.getByRole('img', { name: 'Pattern of M' }).waitFor();
  await player.run();
  await player.show('Results');
  await player.result.getByText(/3 × 4/).waitFor();
}, { expectedStatus: [422] });

scenario('watches a minimisation to its end, on the contour too', async ({ page, player }) => {
  await player.example('BFGS');
  await player.results();
  await player.result.getByText('converged').waitFor();
  await page.getByRole('article', { name: 'Run', exact: true }).getByRole('status').getByText('done').waitFor();
  const contour = page.getByRole('application', { name: /the way of the solver in \d+ points/ });
  await contour.waitFor();
  const points = Number(/in (\d+) points/.exec(await contour.getAttribute('aria-label'))[1]);
  assert.ok(points > 10, `${points} points`);
});

scenario('asks for the fields of a solver in a form, or as JSON', async ({ page, player }) => {
  await player.write('def f(p):\n    return jnp.sum(p**4 - 4 * p)');
  await page.locator('.cm-ghost').first().waitFor();
  await player.verb('Minimise');
  const json = page.getByRole('textbox', { name: 'Fields of the body, as a JSON object' });
  await page.getByRole('textbox', { name: 'max steps' }).fill('7');
  await page.getByRole('textbox', { name: 'bounds' }).fill('[[-2, 2],');
  await page.getByText('Not valid JSON yet.', { exact: true }).waitFor();
  await page.getByRole('textbox', { name: 'bounds' }).fill('[[-2, 2], [-2, 2], [-2, 0.5]]');
  await page.getByRole('button', { name: 'as JSON' }).click();
  const fields = JSON.parse(await json.inputValue());
  assert.deepEqual([fields.max_steps, fields.bounds[2]], [7, [-2, 0.5]]);
  await json.fill(JSON.stringify({ ...fields, max_steps: 500 }));
  await player.run();
  await player.results();
  await player.result.getByText('converged').waitFor();
  await player.show('Function');
  await player.verb('ODE');
  await page.getByRole('button', { name: 'as JSON' }).click();
  await page.getByRole('textbox', { name: 't1', exact: true }).fill('20');
  assert.equal(await page.getByRole('textbox', { name: 'ts', exact: true }).inputValue(), '0:20:201');
}, { once: true, expectedStatus: [422] });

scenario('cancels a run that would not end soon', async ({ page, player }) => {
  await player.write('def lorenz(t, y):\n    a, b, c = y\n    return jnp.stack([10 * (b - a), a * (28 - c) - b, a * b - 8 / 3 * c])');
  await player.verb('ODE');
  await page.getByRole('combobox', { name: 'Form of y' }).selectOption('vector');
  await page.getByRole('textbox', { name: 'max steps' }).fill('900000000');
  await page.getByRole('textbox', { name: 't1', exact: true }).fill('2e6');
  await player.run();
  const run = page.getByRole('article', { name: 'Run', exact: true });
  await player.show('Results');
  await run.getByText(/iteration/).waitFor({ timeout: 60_000 });
  const asked = Date.now();
  await page.getByRole('button', { name: 'Cancel', exact: true }).dblclick();
  await run.getByRole('status').getByText('cancelled').waitFor();
  assert.ok(Date.now() - asked < 5_000);

  // A run that nobody watches any more is not left to go on.
  await player.run();
  await player.show('Results');
  await run.getByText(/iteration/).waitFor({ timeout: 60_000 });
  await player.example('Sine');
  const going = async () => (await (await page.request.get(`${BASE}/v1/runs?verb=ode&status=running`)).json()).data.length;
  await player.until(going, (count) => count === 0);
}, { once: true, expectedStatus: [422] });

scenario('keeps a chosen theme', async ({ page }) => {
  await page.getByRole('button', { name: 'Use the dark theme' }).click();
  await page.reload();
  assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark');
}, { once: true });

scenario('every example of the gallery runs', async ({ page, player }) => {
  await page.getByRole('button', { name: /gallery/ }).click();
  const titles = await page.locator('dialog .title').allTextContents();
  assert.ok(titles.length >= 12);
  await page.keyboard.press('Escape');
  for (const title of titles) {
    await player.example(title);
    await player.show('Results');
    await player.result.waitFor({ timeout: 60_000 });
    assert.equal(await page.getByRole('alert').count(), 0, title);
  }
}, { once: true });
