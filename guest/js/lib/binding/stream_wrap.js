'use strict';
const { loop } = host;
const { kReadBytesOrError, kArrayBufferOffset, kBytesWritten, kLastWriteWasAsync } = { kReadBytesOrError: 0, kArrayBufferOffset: 1, kBytesWritten: 2, kLastWriteWasAsync: 3 };
const streamBaseState = new Int32Array(5);
const EOF = -4095;
const POLL_IN = 1, POLL_OUT = 4;
const CHUNK = 65536;
const { EAGAIN, EBADF, ECANCELED } = native.ERRORS;

// A descriptor that is read when there is something and written as far as there is room: pipes, terminals, sockets.
class LibuvStreamWrap extends host.HandleWrap {
  constructor(type) {
    super(type);
    this.fd = -1;
    this.reading = false;
    this.referenced = true;
    this.bytesRead = 0;
    this.bytesWritten = 0;
    this.pending = []; // {request, bytes, at}
  }

  take(fd) {
    this.fd = fd;
    return 0;
  }

  // ---- reading ----

  readStart() {
    if (this.fd < 0) return -EBADF;
    if (this.input) return 0;
    this.reading = true;
    this.input = true;
    this.#watch();
    return 0;
  }

  readStop() {
    this.reading = false;
    this.input = false;
    this.#watch();
    return 0;
  }

  #read() {
    const own = this.userBuffer;
    const buffer = own ? own.buffer : new ArrayBuffer(CHUNK);
    const count = own ? native.read(this.fd, own, 0, own.byteLength) : this.receive(buffer);
    if (count === -EAGAIN) return;
    if (count > 0) {
      this.bytesRead += count;
      this.give(count, own ? undefined : buffer.slice(0, count));
      return;
    }
    this.readStop();
    this.give(count === 0 ? EOF : count, undefined);
  }

  // The calls for the descriptor; channels of messages have handles beside the bytes.
  receive(buffer) { return native.read(this.fd, buffer, 0, CHUNK); }
  transmit(bytes, at) { return native.write(this.fd, bytes, at, bytes.byteLength - at); }

  // The reader is lib/, or a stream above this one.
  give(count, bytes) {
    if (this.consumer) {
      this.consumer(count, bytes);
      return;
    }
    streamBaseState[kReadBytesOrError] = count;
    streamBaseState[kArrayBufferOffset] = 0;
    const next = this.onread(bytes);
    if (this.userBuffer && next) this.userBuffer = next;
  }

  // ---- writing ----

  writeBytes(request, bytes, handle) {
    streamBaseState[kBytesWritten] = bytes.byteLength;
    streamBaseState[kLastWriteWasAsync] = 0;
    this.bytesWritten += bytes.byteLength;
    let at = 0;
    if (this.pending.length === 0) {
      const count = this.transmit(bytes, 0, handle);
      if (count < 0 && count !== -EAGAIN) return count;
      at = Math.max(0, count);
    }
    if (at === bytes.byteLength) return 0;
    streamBaseState[kLastWriteWasAsync] = 1;
    this.pending.push({ request: host.begin(request, 'WRITEWRAP'), bytes, at, handle });
    this.#watch();
    return 0;
  }

  #writeMore() {
    const [first] = this.pending;
    const count = this.transmit(first.bytes, first.at, first.handle);
    if (count === -EAGAIN) return;
    first.at += Math.max(0, count);
    if (count >= 0 && first.at < first.bytes.byteLength) return;
    this.pending.shift();
    this.#watch();
    host.complete(first.request, Math.min(0, count), this, undefined);
    if (this.pending.length === 0 && this.ending) this.#end();
  }

  writeBuffer(request, buffer, handle) { return this.writeBytes(request, buffer, handle); }
  writeUtf8String(request, text, handle) { return this.writeBytes(request, new Uint8Array(native.encode(1, text)), handle); }
  writeAsciiString(request, text) { return this.writeBytes(request, new Uint8Array(native.encode(4, text))); }
  writeLatin1String(request, text) { return this.writeBytes(request, new Uint8Array(native.encode(4, text))); }
  writeUcs2String(request, text) { return this.writeBytes(request, new Uint8Array(native.encode(3, text))); }
  writev(request, chunks, allBuffers) {
    const parts = [];
    if (allBuffers) parts.push(...chunks);
    else for (let i = 0; i < chunks.length; i += 2) {
      const chunk = chunks[i];
      parts.push(typeof chunk === 'string' ? new Uint8Array(native.encode(host.encodingNumber(chunks[i + 1]), chunk)) : chunk);
    }
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.byteLength, 0));
    let at = 0;
    for (const part of parts) {
      native.copyBytes(part, whole, at, 0, part.byteLength);
      at += part.byteLength;
    }
    return this.writeBytes(request, whole);
  }

  shutdown(request) {
    this.ending = host.begin(request, 'SHUTDOWNWRAP');
    if (this.pending.length === 0) this.#end();
    return 0;
  }

  #end() {
    const request = this.ending;
    this.ending = undefined;
    const result = this.finish();
    loop.later(() => host.complete(request, Math.min(0, result)));
  }

  // No more will be written. A socket has a call for it.
  finish() {
    if (this.reading) return 0;
    this.release();
    return 0;
  }

  // ---- the rest ----

  // What the descriptor is watched for, and by what; at most one at a time.
  setWatch(events, ready) {
    if (this.watched) loop.forget(this.watchedFd, this.watched);
    this.watched = undefined;
    if (!events || this.fd < 0) return;
    this.watchedFd = this.fd;
    this.watched = loop.watch(this.fd, events, ready, this.referenced);
  }

  #watch() {
    const events = (this.input ? POLL_IN : 0) | (this.pending.length > 0 ? POLL_OUT : 0);
    this.setWatch(events, (came) => {
      if (this.pending.length > 0 && came & ~POLL_IN) this.#writeMore();
      if (this.input && came & ~POLL_OUT) this.#read();
    });
  }

  later(f) { loop.later(f); }

  release() {
    const left = this.pending;
    this.input = false;
    this.pending = [];
    this.setWatch(0);
    if (this.fd > 2) native.close(this.fd);
    this.fd = -1;
    for (const { request } of left) this.later(() => host.complete(request, -ECANCELED, this, undefined));
  }

  close(callback) {
    host.closing(this);
    this.release();
    loop.later(() => {
      if (typeof callback === 'function') loop.call(callback, this);
      host.closed(this);
    }); // one more round, so that `beforeExit` is told again
  }

  ref() {
    this.referenced = true;
    if (this.watched) this.watched.ref = true;
  }
  unref() {
    this.referenced = false;
    if (this.watched) this.watched.ref = false;
  }
  hasRef() { return this.referenced; }
  useUserBuffer(buffer) {
    this.userBuffer = buffer;
    return 0;
  }
  setBlocking(on) { return native.setBlocking(this.fd, on); }
  get isStreamBase() { return true; }
  get writeQueueSize() { return this.pending.reduce((sum, { bytes, at }) => sum + bytes.byteLength - at, 0); }
}

host.LibuvStreamWrap = LibuvStreamWrap;
return { LibuvStreamWrap, ShutdownWrap: host.requestClass('SHUTDOWNWRAP'), WriteWrap: host.requestClass('WRITEWRAP'), streamBaseState, kReadBytesOrError, kArrayBufferOffset, kBytesWritten, kLastWriteWasAsync };
