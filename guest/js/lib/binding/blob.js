'use strict';
// Bytes that do not change: a list of pieces.
const urls = new Map(); // id: [handle, length, type]

function sliceOf(pieces, from, to) {
  const result = [];
  let at = 0;
  for (const piece of pieces) {
    const start = Math.max(from - at, 0), end = Math.min(to - at, piece.byteLength);
    if (start < end) result.push(piece.subarray(start, end));
    at += piece.byteLength;
  }
  return result;
}

// A file that bytes came from, as it was: they are of use as long as it is so.
class Origin {
  #path;
  #before;
  constructor(path) {
    this.#path = path;
    this.#before = this.#state();
  }
  #state() {
    const fields = new BigInt64Array(18);
    const result = native.stat(this.#path, fields, true);
    return result < 0 ? '' : [7, 8, 12, 13].map((i) => fields[i]).join(); // inode, size, time of its change
  }
  get isAsBefore() { return this.#state() === this.#before; }
}

class Blob {
  constructor(pieces, origins = []) {
    this.pieces = pieces;
    this.origins = origins;
    host.handles.add(this);
  }
  slice(from, to) { return new Blob(sliceOf(this.pieces, from, to), this.origins); }
  getReader() {
    const left = [...this.pieces], { origins } = this;
    return {
      setWakeup() {}, // bytes are always there
      pull(callback) {
        if (!origins.every((each) => each.isAsBefore)) {
          callback(-native.ERRORS.EIO, undefined);
          return;
        }
        const piece = left.shift();
        if (piece === undefined) callback(0, undefined);
        else callback(1, piece.slice().buffer);
      },
    };
  }
}
const bytesOf = (source) => (ArrayBuffer.isView(source) ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength) : new Uint8Array(source));
const piecesOf = (sources) => sources.flatMap((source) => (source instanceof Blob ? source.pieces : [bytesOf(source)])).filter((piece) => piece.byteLength > 0);

function concat(sources) {
  const pieces = sources.map(bytesOf);
  const whole = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole.buffer;
}

function createBlobFromFilePath(path) {
  const fd = native.open(path, 0, 0);
  if (fd < 0) return undefined;
  const bytes = native.readAll(fd);
  native.close(fd);
  if (typeof bytes === 'number') return undefined;
  return [new Blob(piecesOf([bytes]), [new Origin(path)]), bytes.byteLength];
}

return {
  createBlob: (sources) => new Blob(piecesOf(sources), sources.flatMap((source) => source.origins ?? [])),
  createBlobFromFilePath,
  concat,
  storeDataObject(id, handle, length, type) { urls.set(id, [handle, length, type]); },
  getDataObject: (id) => urls.get(id),
  revokeObjectURL(url) { urls.delete(/^blob:nodedata:(.+)$/.exec(url)?.[1]); },
};
