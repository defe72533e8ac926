// common.cts - CommonJS.
import path = require('node:path');
const assert: typeof import('node:assert') = require('node:assert');
const { area } = require('./shape');
assert.equal(area({ side: 2 } as any), 4);
assert.equal(path.join('a', 'b'), 'a/b');
export = { ok: 1 };
console.log('ok');
