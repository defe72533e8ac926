'use strict';
// A stream of JavaScript as a handle: bytes come by readBuffer and go to onwrite.
const { streamBaseState, LibuvStreamWrap, kLastWriteWasAsync, kBytesWritten } = host.internalBinding('stream_wrap');
const EOF = -4095;

class JSStream extends LibuvStreamWrap {
  constructor() { super('JSSTREAM'); }
  readBuffer(bytes) { this.give(bytes.byteLength, new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength).slice().buffer); }
  emitEOF() { this.give(EOF, undefined); }
  readStart() { return this.onreadstart?.() ?? 0; }
  readStop() { return this.onreadstop?.() ?? 0; }

  // One write at a time; the others wait for it, and a shutdown for all of them.
  #queue = [];
  #isWriting = false;
  #ending;

  writeBytes(request, bytes) {
    const own = host.toBuffer(bytes.slice().buffer);
    this.bytesWritten += bytes.byteLength;
    this.#queue.push([request, own]);
    const result = this.#pump();
    streamBaseState[kBytesWritten] = bytes.byteLength;
    streamBaseState[kLastWriteWasAsync] = 1;
    return result;
  }

  #pump() {
    if (this.#isWriting) return 0;
    const next = this.#queue.shift();
    if (next === undefined) return this.#end();
    this.#isWriting = true;
    const result = this.onwrite(next[0], [next[1]]);
    if (result !== 0) this.#isWriting = false;
    return result;
  }

  #end() {
    const request = this.#ending;
    this.#ending = undefined;
    return request ? this.onshutdown(request) : 0;
  }

  shutdown(request) {
    this.#ending = request;
    return this.#pump();
  }

  finishWrite(request, status) {
    this.#isWriting = false;
    this.#pump();
    host.complete(request, status, this, undefined);
  }
  finishShutdown(request, status) { host.complete(request, status); }
}

return { JSStream };
