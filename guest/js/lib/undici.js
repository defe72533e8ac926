// undici.js - fetch's parser of HTTP. Undici, which Node's lib/ brings, has llhttp as a module of WebAssembly and calls it through a memory of
// its own; these are that module's functions over the llhttp that this program contains.
'use strict';

const REASONS = 8;   // where the text of an error lies
const INPUT = 1024;  // where the bytes that are parsed lie
const RESUME = 1;

// `events`: what the module imports as `env`.
function instance({ env: events }) {
  const parsers = new Map();
  const memory = { buffer: new ArrayBuffer(INPUT + 65536) };
  let last = 0;

  function handler(pointer, get) {
    const span = (name) => (at, length) => events[name](pointer, INPUT + at, length);
    const moment = (name) => () => events[name](pointer);
    const status = span('wasm_on_status'), begin = moment('wasm_on_message_begin'), field = span('wasm_on_header_field'),
      value = span('wasm_on_header_value'), body = span('wasm_on_body'), complete = moment('wasm_on_message_complete');
    const headersComplete = () => {
      const [, , , code, upgrade, keepAlive] = native.httpState(get());
      return events.wasm_on_headers_complete(pointer, code, upgrade ? 1 : 0, keepAlive ? 1 : 0);
    };
    const handlers = [begin, undefined, status, field, value, headersComplete, body, complete];
    return (event, at, length) => handlers[event]?.(at, length) ?? 0;
  }

  return {
    exports: {
      memory,
      malloc(size) {
        if (memory.buffer.byteLength < INPUT + size) memory.buffer = new ArrayBuffer(INPUT + size);
        return INPUT;
      },
      free() {},
      llhttp_alloc(type) {
        const pointer = ++last;
        const parser = native.httpParser(type, handler(pointer, () => parser));
        parsers.set(pointer, parser);
        return pointer;
      },
      llhttp_free(pointer) { parsers.delete(pointer); },
      llhttp_execute: (pointer, at, length) => native.httpExecute(parsers.get(pointer), new Uint8Array(memory.buffer, at, length)),
      llhttp_finish: (pointer) => native.httpFinish(parsers.get(pointer)),
      llhttp_resume(pointer) { native.httpControl(parsers.get(pointer), RESUME); },
      llhttp_get_error_pos: (pointer) => INPUT + native.httpErrorAt(parsers.get(pointer)),
      llhttp_get_error_reason(pointer) {
        const [, reason] = native.httpError(parsers.get(pointer));
        const bytes = new Uint8Array(native.encode(1, `${reason.slice(0, INPUT - REASONS - 1)}\0`));
        new Uint8Array(memory.buffer, REASONS, bytes.length).set(bytes);
        return REASONS;
      },
    },
  };
}

// In the place of WebAssembly, for the file of undici alone.
host.undiciEngine = {
  Module: class {},
  Instance: class {
    constructor(module, imports) { return instance(imports); }
  },
};
