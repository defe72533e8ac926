// assert.mjs - uvu/assert for `import`.
import { createRequire } from 'node:module';

const assert = createRequire(import.meta.url)('./index.js');
export const { Assertion, ok, is, equal, unreachable, type, instance, match, snapshot, fixture, throws, not } = assert;
