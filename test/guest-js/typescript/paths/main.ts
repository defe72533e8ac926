// main.ts - names of modules: `paths`, ends that are left out, .js for .ts, folders.
import assert from 'node:assert';
import { one } from '@deep/one';
import { one as same } from './src/deep/one.js';
import { two } from './src/deep';
import { three } from 'exact';
assert.deepEqual([one, same, two, three], [1, 1, 2, 3]);
await assert.rejects(import('@deep/none' as string), { code: 'ERR_MODULE_NOT_FOUND' });
console.log('ok');
