'use strict';
return { queryObjects() { throw new Error('queryObjects is not supported in a sandbox (v8)'); } };
