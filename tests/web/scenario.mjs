// A scenario: a fresh page, and at its end nothing said on the console, nothing asked elsewhere.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, open, WIDTH } from './browser.mjs';

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

/** What takes long and looks alike at every size is driven `once`, at the first of them. */
export function scenario(name, work, options = {}) {
  test(name, { timeout: 90_000, skip: Boolean(options.once) && WIDTH !== 1280 }, async () => {
    const opened = await open(browser, options.path, options);
    try {
      await work(opened);
      assert.deepEqual(opened.seen.errors, []);
      assert.deepEqual(opened.seen.elsewhere, []);
    } finally {
      await opened.context.close();
    }
  });
}
