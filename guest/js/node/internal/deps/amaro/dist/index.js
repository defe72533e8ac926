// index.js - in the place of amaro, which strips types for Node's loaders and needs WebAssembly: our own transformation.
'use strict';

// { code }; a mistake is an object with `code` and where it is, as amaro's.
exports.transformSync = (source, { filename = '' }) => ({ code: internalBinding('typescript').transform(source, filename) });
