// index.mjs - the same for `import`; one copy of the framework serves both.
import { createRequire } from 'node:module';

const uvu = createRequire(import.meta.url)('./index.js');
export const { suite, test, exec } = uvu;
