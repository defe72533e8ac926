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

class Blob {
  constructor(pieces) {
    this.pieces = pieces;
    host.handles.add(this);
  }
  slice(from, to) { return new Blob(sliceOf(this.pieces, from, to)); }
  getReader() {
    const left = [...this.pieces];
    return {
      setWakeup() {}, // bytes are always there
      pull(callback) {
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
  return [new Blob(piecesOf([bytes])), bytes.byteLength];
}

return {
  createBlob: (sources) => new Blob(piecesOf(sources)),
  createBlobFromFilePath,
  concat,
  storeDataObject(id, handle, length, type) { urls.set(id, [handle, length, type]); },
  getDataObject: (id) => urls.get(id),
  revokeObjectURL(url) { urls.delete(/^blob:nodedata:(.+)$/.exec(url)?.[1]); },
};
