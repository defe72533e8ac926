'use strict';
const { loop } = host;
const OK = 0, STREAM_END = 1, NEED_DICT = 2, BUF_ERROR = -5, FINISH = 4;
const codes = new Map(Object.entries(host.tables.zlib).filter(([name]) => /^Z_[A-Z]+_ERROR$|^Z_NEED_DICT$/.test(name)).map(([name, number]) => [number, name]));
codes.set(-1, 'Z_ERRNO');

class Zlib {
  constructor(mode) { this.mode = mode; }

  init(windowBits, level, memoryLevel, strategy, state, callback, dictionary) {
    this.state = state;
    this.callback = callback;
    this.stream = native.zlibStream(this.mode, windowBits || 15, level, memoryLevel, strategy, dictionary);
    if (typeof this.stream === 'number') this.#fail(this.stream, 'Init error');
  }

  params(level, strategy) {
    const result = native.zlibTune(this.stream, level, strategy);
    if (result !== OK && result !== BUF_ERROR) this.#fail(result, 'Failed to set parameters');
  }

  reset() {
    const result = native.zlibAgain(this.stream);
    if (result !== OK) this.#fail(result, 'Failed to reset stream');
  }

  #fail(number, message) { this.onerror(message, number, codes.get(number) ?? 'Z_ERRNO'); }

  // False when it has failed.
  #write(flush, input, inAt, inLength, out, outAt, outLength) {
    const [result, room, left, message] = native.zlibWrite(this.stream, flush, input, inAt, inLength, out, outAt, outLength);
    this.state[0] = room;
    this.state[1] = left;
    if (result === OK || result === STREAM_END || (result === BUF_ERROR && (flush !== FINISH || room === 0))) return true;
    this.#fail(result, result === BUF_ERROR ? 'unexpected end of file' : result === NEED_DICT ? 'Missing dictionary' : message ?? 'Zlib error');
    return false;
  }

  writeSync(...args) { this.#write(...args); }

  write(...args) {
    this.writing = true;
    loop.later(() => {
      this.writing = false;
      if (this.closing) this.#shut();
      else if (this.#write(...args)) this.callback.call(this);
    });
  }

  close() {
    this.closing = true;
    if (!this.writing) this.#shut();
  }

  #shut() { if (typeof this.stream === 'object') native.zlibClose(this.stream); }

  getAsyncId() { return 0; }
}

return {
  Zlib,
  crc32: (data, value) => native.checksum(typeof data === 'string' ? native.encode(1, data) : data, value),
};
