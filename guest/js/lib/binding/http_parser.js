'use strict';
// HTTPParser of Node over llhttp: collects names and values of headers, and gives them with the end of the head.
const REQUEST = 1, RESPONSE = 2;
const K_MESSAGE_BEGIN = 0, K_HEADERS = 1, K_HEADERS_COMPLETE = 2, K_BODY = 3, K_MESSAGE_COMPLETE = 4;
const HPE_INVALID_EOF_STATE = 14, HPE_OK = 0, HPE_PAUSED_UPGRADE = 22, HPE_USER = 24;
const PAUSE = 0, RESUME = 1, RESUME_AFTER_UPGRADE = 2;
const FIELDS_MAX = 32;             // before they are handed over
const HEADER_BYTES = 16 * 1024;    // of all headers, unless the user says otherwise
const EXTENSION_BYTES = 16 * 1024; // of one chunk
const LATIN1 = 4;

const all = native.httpMethods();
const allMethods = all.map(([, name]) => name);
const { methods } = host.tables.shapes.http_parser;

// ---- connections of a server ----

class ConnectionsList {
  #all = new Set();
  #active = new Set();
  add(parser) { this.#all.add(parser); }
  remove(parser) {
    this.#all.delete(parser);
    this.#active.delete(parser);
  }
  begin(parser) { this.#active.add(parser); }
  end(parser) { this.#active.delete(parser); }

  all() { return [...this.#all]; }
  idle() { return [...this.#all].filter((parser) => parser.startedAt === 0); }
  active() { return [...this.#active]; }
  expired(headers, request) {
    const now = native.now();
    const late = [...this.#active].filter((parser) => (headers > 0 && !parser.headersAreComplete && parser.startedAt < now - headers) ||
      (request > 0 && parser.startedAt < now - request));
    for (const parser of late) this.#active.delete(parser);
    return late;
  }
}

// ---- the parser ----

class HTTPParser {
  // Names of lib/ and its users are theirs.
  #url = '';
  #status = '';
  #fields = [];
  #isFree = false;

  initialize(type, resource, maxHeaderSize, lenient, connections) {
    host.track(this, type === REQUEST ? 'HTTPINCOMINGMESSAGE' : 'HTTPCLIENTREQUEST', resource);
    this.#isFree = false;
    this.type = type;
    this.resource = resource;
    this.headerMax = maxHeaderSize > 0 ? maxHeaderSize : host.options['--max-http-header-size'] || HEADER_BYTES;
    this.parser = native.httpParser(type, (event, at, length) => this.#handle(event, at, length));
    native.httpLenient(this.parser, lenient ?? 0);
    this.connections = connections;
    this.startedAt = 0;
    this.headersAreComplete = false;
    this.pausePending = false;
    this.#reset();
    if (!connections) return;
    // A connection that never sends anything has a beginning, too.
    this.startedAt = native.now();
    connections.add(this);
    connections.begin(this);
  }

  #reset() {
    this.#fields = [];
    this.#url = '';
    this.#status = '';
    this.headerBytes = 0;
    this.extensionBytes = 0;
    this.hasFlushed = false;
    this.isInValue = true;
  }

  #text(at, length) { return native.decode(LATIN1, this.bytes.subarray(at, at + length)); }

  #handle(event, at, length) {
    switch (event) {
      case 0: return this.#begin();
      case 1: return this.#track(length) || (this.#url += this.#text(at, length), 0);
      case 2: return this.#track(length) || (this.#status += this.#text(at, length), 0);
      case 3: return this.#track(length) || this.#field(this.#text(at, length));
      case 4: return this.#track(length) || this.#value(this.#text(at, length));
      case 5: return this.#headersComplete();
      case 6: return this.#body(at, length);
      case 7: return this.#complete();
      case 8: case 10:
        this.headerBytes = this.extensionBytes = 0;
        return 0;
      case 9:
        this.extensionBytes += length;
        return this.extensionBytes > EXTENSION_BYTES ? native.httpFail(this.parser, 'HPE_CHUNK_EXTENSIONS_OVERFLOW:Chunk extensions overflow') : 0;
      default: return 0;
    }
  }

  #tell(event, ...args) { return !this.#isFree && typeof this[event] === 'function' ? host.inside(this[event], this, args) : undefined; }

  #track(length) {
    this.headerBytes += length;
    return this.headerBytes >= this.headerMax ? native.httpFail(this.parser, 'HPE_HEADER_OVERFLOW:Header overflow') : 0;
  }

  #begin() {
    this.#reset();
    this.headersAreComplete = false;
    this.startedAt = native.now();
    this.connections?.end(this);
    this.connections?.begin(this);
    this.#tell(K_MESSAGE_BEGIN);
    return 0;
  }

  #field(text) {
    if (this.isInValue) {
      if (this.#fields.length >= 2 * FIELDS_MAX) this.#flush();
      this.#fields.push('', '');
      this.isInValue = false;
    }
    this.#fields[this.#fields.length - 2] += text;
    return 0;
  }

  #value(text) {
    this.isInValue = true;
    this.#fields[this.#fields.length - 1] += text;
    return 0;
  }

  #headers() {
    // Blanks behind a value are none of it.
    const headers = this.#fields.map((text, i) => (i % 2 ? text.replace(/[ \t]+$/, '') : text));
    this.#fields = [];
    this.isInValue = true;
    return headers;
  }

  #flush() {
    this.#tell(K_HEADERS, this.#headers(), this.#url);
    this.#url = '';
    this.hasFlushed = true;
  }

  #headersComplete() {
    const [major, minor, method, status, upgrade, keepAlive] = native.httpState(this.parser);
    let headers, url;
    this.headersAreComplete = true;
    this.headerBytes = 0;
    if (this.hasFlushed) this.#flush();
    else {
      headers = this.#headers();
      if (this.type === REQUEST) url = this.#url;
    }
    const isRequest = this.type === REQUEST;
    const answer = this.#tell(K_HEADERS_COMPLETE, major, minor, headers, isRequest ? method : undefined, url, isRequest ? undefined : status,
                                              isRequest ? undefined : this.#status, upgrade !== 0, keepAlive !== 0);
    return Number(answer) | 0;
  }

  #body(at, length) {
    this.#tell(K_BODY, host.toBuffer(this.bytes.slice(at, at + length).buffer));
    return 0;
  }

  #complete() {
    this.startedAt = 0;
    this.connections?.end(this);
    if (this.#fields.length > 0) this.#flush();
    this.#tell(K_MESSAGE_COMPLETE);
    return 0;
  }

  // ---- bytes come ----

  execute(data) {
    this.bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    this.current = data;
    return this.#leave(this.#run(() => native.httpExecute(this.parser, this.bytes)), data.byteLength);
  }

  finish() {
    this.bytes = new Uint8Array(0);
    return this.#leave(this.#run(() => native.httpFinish(this.parser)), undefined);
  }

  #run(f) {
    this.isRunning = true;
    try {
      return f();
    } finally {
      this.isRunning = false;
    }
  }

  #leave(error, length) {
    const [, , , , upgrade] = native.httpState(this.parser);
    const read = error === HPE_OK ? length ?? 0 : native.httpErrorAt(this.parser);
    if (error === HPE_PAUSED_UPGRADE) {
      error = HPE_OK;
      native.httpControl(this.parser, RESUME_AFTER_UPGRADE);
    }
    if (this.pausePending) {
      this.pausePending = false;
      native.httpControl(this.parser, PAUSE);
    }
    if (error !== HPE_OK && !upgrade) return this.#error(error, read);
    return length === undefined ? undefined : read;
  }

  #error(number, bytesParsed) {
    let [code, reason] = native.httpError(this.parser);
    if (number === HPE_INVALID_EOF_STATE) code = 'HPE_INVALID_EOF_STATE'; // the parser keeps only its reason
    if (number === HPE_USER && reason.includes(':')) [code, reason] = [reason.slice(0, reason.indexOf(':')), reason.slice(reason.indexOf(':') + 1)];
    return Object.assign(new Error(`Parse Error${reason ? `: ${reason}` : ''}`), { bytesParsed, code, reason });
  }

  getCurrentBuffer() { return this.current; }

  // ---- the life of it ----

  pause() {
    if (this.isRunning) this.pausePending = true;
    else native.httpControl(this.parser, PAUSE);
  }
  resume() {
    this.pausePending = false;
    native.httpControl(this.parser, RESUME);
  }
  consume() {} // bytes come as the stream's data
  unconsume() {}
  remove() { this.connections?.remove(this); }
  free() {
    this.#isFree = true;
    this.connections?.remove(this);
    host.untrack(this);
  }
  close() { this.parser = undefined; }
  duration() { return this.startedAt === 0 ? 0 : native.now() - this.startedAt; }
  headersCompleted() { return this.headersAreComplete; }
}

Object.assign(HTTPParser, { REQUEST, RESPONSE, kOnMessageBegin: K_MESSAGE_BEGIN, kOnHeaders: K_HEADERS, kOnHeadersComplete: K_HEADERS_COMPLETE,
  kOnBody: K_BODY, kOnMessageComplete: K_MESSAGE_COMPLETE, kOnExecute: 5, kOnTimeout: 6, kLenientNone: 0, kLenientHeaders: 1,
  kLenientChunkedLength: 2, kLenientKeepAlive: 4, kLenientTransferEncoding: 8, kLenientVersion: 16, kLenientDataAfterClose: 32,
  kLenientOptionalLFAfterCR: 64, kLenientOptionalCRLFAfterChunk: 128, kLenientOptionalCRBeforeLF: 256, kLenientSpacesAfterChunkSize: 512,
  kLenientHeaderValueRelaxed: 0, kLenientAll: 1023 });

return { HTTPParser, ConnectionsList, methods: methods?.value ?? allMethods, allMethods };
