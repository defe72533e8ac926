'use strict';
// A stream of JavaScript as a handle: bytes come by readBuffer and go to onwrite.
const { streamBaseState, LibuvStreamWrap, kLastWriteWasAsync, kBytesWritten } = host.internalBinding('stream_wrap');
const EOF = -4095;

class JSStream extends LibuvStreamWrap {
  readBuffer(bytes) { this.give(bytes.byteLength, new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength).slice().buffer); }
  emitEOF() { this.give(EOF, undefined); }
  readStart() { return this.onreadstart(); }
  readStop() { return this.onreadstop(); }
  writeBytes(request, bytes) {
    streamBaseState[kBytesWritten] = bytes.byteLength;
    this.bytesWritten += bytes.byteLength;
    const result = this.onwrite(request, [host.toBuffer(bytes.slice().buffer)]);
    streamBaseState[kBytesWritten] = bytes.byteLength;
    streamBaseState[kLastWriteWasAsync] = 1;
    return result;
  }
  shutdown(request) { return this.onshutdown(request); }
  finishWrite(request, status) { request.oncomplete?.(status, this, undefined); }
  finishShutdown(request, status) { request.oncomplete?.(status); }
}

return { JSStream };
