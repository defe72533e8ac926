'use strict';
const { loop } = host;
const OK = 0, STREAM_END = 1, NEED_DICT = 2, BUF_ERROR = -5, FINISH = 4;
const { zlib: constants } = host.tables;
const codes = new Map(Object.entries(constants).filter(([name]) => /^Z_[A-Z]+_ERROR$|^Z_NEED_DICT$/.test(name)).map(([name, number]) => [number, name]));
codes.set(-1, 'Z_ERRNO');

// Views may say other lengths than they have.
const lengthOf = (view) => host.primordials.TypedArrayPrototypeGetByteLength(view);
function checkFlow([, input, inputAt, inputLength, output, outputAt, outputLength]) {
  if (input && inputAt + inputLength > lengthOf(input)) throw host.nodeError('ERR_OUT_OF_RANGE', 'in_len', `<= ${lengthOf(input)}`, inputLength);
  if (outputLength < 0 || outputAt + outputLength > lengthOf(output)) throw host.nodeError('ERR_OUT_OF_RANGE', 'out_len', `<= ${lengthOf(output)}`, outputLength);
}

// The frame of all compressors. `step` answers nothing, or [message, number, code] of a failure.
class Compression extends host.AsyncWrap {
  constructor() { super('ZLIB'); }

  writeSync(...args) {
    checkFlow(args);
    this.#write(...args);
  }

  write(...args) {
    checkFlow(args);
    this.writing = true;
    loop.later(() => {
      this.writing = false;
      if (this.closing) this.#shut();
      else if (this.#write(...args)) loop.call(this.callback, this);
    });
  }

  // False when it has failed.
  #write(...args) {
    const failure = this.step(...args);
    if (failure) this.onerror(...failure);
    return !failure;
  }

  checkIdle() {
    if (this.writing) throw new Error('Cannot reset zlib stream while a write is in progress');
  }

  // The room and the input that are left.
  note(result) {
    this.state[0] = result[1];
    this.state[1] = result[2];
    return result;
  }

  close() {
    this.closing = true;
    if (!this.writing) this.#shut();
  }

  #shut() {
    if (typeof this.stream === 'object') this.end();
    host.untrack(this);
  }
}

class Zlib extends Compression {
  constructor(mode) {
    super();
    this.mode = mode;
  }

  init(windowBits, level, memoryLevel, strategy, state, callback, dictionary, oneMember = false) {
    this.state = state;
    this.callback = callback;
    this.stream = native.zlibStream(this.mode, windowBits || 15, level, memoryLevel, strategy, dictionary, oneMember);
    this.hasDictionary = dictionary !== undefined;
    if (typeof this.stream === 'number') this.#fail(this.stream, 'Init error');
  }

  params(level, strategy) {
    const result = native.zlibTune(this.stream, level, strategy);
    if (result !== OK && result !== BUF_ERROR) this.#fail(result, 'Failed to set parameters');
  }

  reset() {
    this.checkIdle();
    const result = native.zlibAgain(this.stream);
    if (result !== OK) this.#fail(result, 'Failed to reset stream');
  }

  #fail(number, message) { this.onerror(message, number, codes.get(number) ?? 'Z_ERRNO'); }

  step(flush, ...flow) {
    const [result, room, , message] = this.note(native.zlibWrite(this.stream, flush, ...flow));
    if (result === OK || result === STREAM_END || (result === BUF_ERROR && (flush !== FINISH || room === 0))) return undefined;
    return [result === BUF_ERROR ? 'unexpected end of file' : result === NEED_DICT ? `${this.hasDictionary ? 'Bad' : 'Missing'} dictionary` : message ?? 'Zlib error', result,
      codes.get(result) ?? 'Z_ERRNO'];
  }

  end() { native.zlibClose(this.stream); }
}

const cannotStart = () => Object.assign(new Error('Initialization failed'), { code: 'ERR_ZLIB_INITIALIZATION_FAILED' });
const UNSET = 0xffffffff;
const END_OF_FILE = ['unexpected end of file', BUF_ERROR, 'Z_BUF_ERROR'];

// ---- Brotli ----

class Brotli extends Compression {
  init(parameters, state, callback, dictionary) {
    this.state = state;
    this.callback = callback;
    this.given = { parameters: [...parameters], dictionary };
    this.reset();
  }

  reset() {
    this.checkIdle();
    const { parameters, dictionary } = this.given;
    this.stream = native.brotliStream(this.packs, dictionary);
    if (this.stream === undefined) throw cannotStart();
    parameters.forEach((value, name) => {
      if (value !== UNSET && !native.brotliTune(this.stream, name, value)) throw cannotStart();
    });
  }

  params() {}
  end() { native.brotliClose(this.stream); }
}

class BrotliEncoder extends Brotli {
  get packs() { return true; }
  step(operation, ...flow) {
    const [good] = this.note(native.brotliWrite(this.stream, operation, ...flow));
    return good ? undefined : ['Compression failed', -1, 'ERR_BROTLI_COMPRESSION_FAILED'];
  }
}

class BrotliDecoder extends Brotli {
  get packs() { return false; }
  step(operation, ...flow) {
    const [result, , , code, text] = this.note(native.brotliWrite(this.stream, operation, ...flow));
    if (code !== undefined) return ['Decompression failed', code, `ERR_${text}`];
    const isCut = operation === constants.BROTLI_OPERATION_FINISH && result === constants.BROTLI_DECODER_RESULT_NEEDS_MORE_INPUT;
    return isCut ? END_OF_FILE : undefined;
  }
}

// ---- Zstandard ----

const zstdCodes = new Map(Object.entries(constants).filter(([name]) => name.startsWith('ZSTD_error_')).map(([name, number]) => [number, name]));

class Zstd extends Compression {
  init(parameters, size, state, callback, dictionary) {
    this.state = state;
    this.callback = callback;
    this.given = { parameters: [...parameters], size, dictionary };
    this.reset();
  }

  reset() {
    const { parameters, size, dictionary } = this.given;
    this.stream = native.zstdStream(this.packs, size, dictionary);
    if (this.stream === undefined) throw cannotStart();
    parameters.forEach((value, name) => {
      if (value !== UNSET && native.zstdTune(this.stream, name, value | 0) !== 0)
        throw Object.assign(new Error('Setting parameter failed'), { code: 'ERR_ZLIB_INITIALIZATION_FAILED' });
    });
  }

  step(operation, ...flow) {
    const [left, room, input, code, text] = this.note(native.zstdWrite(this.stream, operation, ...flow));
    if (code !== undefined) return [text, code, zstdCodes.get(code) ?? 'ZSTD_error_GENERIC'];
    const [, , given, , , space] = flow;
    if (input < given || room < space) this.within = left !== 0; // between two frames nothing is left
    return this.check(operation, room, input);
  }

  check() { return undefined; }
  params() {}
  end() { native.zstdClose(this.stream); }
}

class ZstdCompress extends Zstd {
  get packs() { return true; }
}

class ZstdDecompress extends Zstd {
  get packs() { return false; }
  check(operation, room, input) {
    return operation === constants.ZSTD_e_end && this.within && room !== 0 && input === 0 ? END_OF_FILE : undefined;
  }
}

return {
  Zlib, BrotliEncoder, BrotliDecoder, ZstdCompress, ZstdDecompress,
  crc32: (data, value) => native.checksum(typeof data === 'string' ? native.encode(1, data) : data, value),
};
