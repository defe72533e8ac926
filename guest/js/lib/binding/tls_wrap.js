'use strict';
// TLS over another stream: that stream's bytes come here instead of to its reader, and bytes that are written here go into it as records.
const { streamBaseState, LibuvStreamWrap, kLastWriteWasAsync, kBytesWritten, kReadBytesOrError, kArrayBufferOffset } = host.internalBinding('stream_wrap');
const { loop, noop } = host;
const { ECANCELED, EPROTO } = native.ERRORS;
const EOF = -4095;
const { owner_symbol: owner, onpskexchange } = host.perIsolateSymbols;
const [SESSION, KEYS, HELLO, BEGIN, FINISHED] = [0, 1, 2, 3, 4]; // of native.tlsNotes
const [ASK_SESSION, ASK_PROTOCOL, ASK_SERVER_KEY] = [0, 1, 2];
const DONE = 0, WANTS_CERTIFICATE = 2, ENDED = 3;

class TLSWrap extends LibuvStreamWrap {
  constructor(stream, context, isServer) {
    super('TLSWRAP');
    if (stream === undefined) return;
    this.stream = stream;
    this.isServer = isServer;
    this.tls = native.tlsNew(context.native, isServer);
    this.isStarted = false;
    this.isEstablished = false;
    this.hasEnded = false;
    this.waiting = []; // {request, bytes} that came before the handshake was done
    stream.consumer = (count, bytes) => this.#receive(count, bytes);
    this.onclienthello = this.onnewsession = noop;
  }

  // ---- the network's side ----

  #receive(count, bytes) {
    if (this.tls === undefined) return;
    if (count < 0) {
      this.#clearOut();
      this.#end(count);
      return;
    }
    native.tlsFeed(this.tls, bytes);
    this.cycle();
  }

  receive(data) { this.#receive(data.byteLength, data); }

  cycle() {
    if (this.tls === undefined || this.inCycle) return;
    this.inCycle = true;
    try {
      if (!this.isEstablished) this.#handshake();
      if (this.isEstablished) {
        this.#writeWaiting();
        this.#clearOut();
        this.#tell();
        this.#writeWaiting(); // writes of the answers to OpenSSL
      }
    } finally {
      this.inCycle = false;
      this.#send();
    }
  }

  // What came up in the calls of OpenSSL.
  #tell() {
    for (const [kind, id, bytes] of (this.tls && native.tlsNotes(this.tls)) ?? []) this.#tellOne(kind, host.toBuffer(id), host.toBuffer(bytes));
  }

  #tellOne(kind, id, bytes) {
    switch (kind) {
      case SESSION:
        if (this.tellsSessions) loop.call(this.onnewsession, this, id, bytes);
        break;
      case KEYS: loop.call(this.onkeylog, this, asLine(bytes)); break;
      case HELLO: loop.call(this.onclienthello, this, { sessionId: id, tlsTicket: bytes.length > 0 }); break;
      case BEGIN: loop.call(this.onhandshakestart, this, loop.now()); break;
      case FINISHED: loop.call(this.onhandshakedone, this); break;
    }
  }

  // What OpenSSL wants to know at once.
  #answer = (...question) => {
    this.#isAsked = true;
    try {
      return this.#answerTo(...question);
    } finally {
      this.#isAsked = false;
    }
  };
  #isAsked = false;

  #answerTo(question, first, ...more) {
    if (question === ASK_SESSION) {
      if (this.tellsSessions) loop.call(this.onnewsession, this, host.toBuffer(first), host.toBuffer(more[0]));
      return undefined;
    }
    if (question === ASK_PROTOCOL) return this.ALPNCallback(host.toBuffer(first));
    if (question === ASK_SERVER_KEY) return first.includes('\ufffd') ? undefined : this[onpskexchange](first, ...more);
    const found = this[onpskexchange](first, ...more);
    return found && [found.psk, found.identity];
  }

  #try(f) {
    try {
      return f();
    } catch (error) {
      this.#send(); // the alert that says why
      this.#fail(error);
      return undefined;
    }
  }

  #fail(error) {
    const waiting = this.waiting.splice(0);
    this.tlsFailed = true;
    for (const { request } of waiting) this.later(() => host.complete(request, -ECANCELED, this, undefined));
    loop.call(this.onerror, this, error);
  }

  #handshake() {
    if (!this.isStarted && !this.isServer) return;
    if (this.isServer && !this.isStarted) {
      this.isStarted = true;
      loop.call(this.onhandshakestart, this, loop.now());
    }
    const result = this.#try(() => native.tlsHandshake(this.tls, this.#answer));
    this.#tell();
    if (this.tls === undefined) return;
    if (result === WANTS_CERTIFICATE && !this.isAsking) {
      this.isAsking = true;
      const servername = this.getServername();
      if (servername !== false && this[owner]) this[owner].servername = servername;
      loop.call(this.oncertcb, this, { servername, OCSPRequest: false });
    }
    if (result !== DONE) return;
    this.isEstablished = true;
    loop.call(this.onhandshakedone, this);
  }

  // Plain bytes go to the reader.
  #clearOut() {
    while (this.tls !== undefined && this.isEstablished && !this.tlsFailed && !this.hasEnded) {
      const got = this.#try(() => native.tlsRead(this.tls, this.#answer));
      if (got === undefined) return;
      if (got === ENDED) this.#end(EOF);
      if (typeof got === 'number') return;
      this.bytesRead += got.byteLength;
      if (this.userBuffer) this.#fill(new Uint8Array(got));
      else this.#emit(got.byteLength, got);
    }
  }

  // The reader's own buffer, as often as it takes.
  #fill(bytes) {
    for (let at = 0; at < bytes.length && this.userBuffer;) {
      const part = bytes.subarray(at, at + this.userBuffer.length);
      this.userBuffer.set(part);
      at += part.length;
      this.#emit(part.length, undefined);
    }
  }

  #end(count) {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.#emit(count, undefined);
  }

  #emit(count, bytes) {
    if (this.consumer) { // another TLSWrap above this one
      this.consumer(count, bytes);
      return;
    }
    streamBaseState[kReadBytesOrError] = count;
    streamBaseState[kArrayBufferOffset] = 0;
    const next = this.onread(bytes);
    if (this.userBuffer && next) this.userBuffer = next;
  }

  // Records go to the stream below. `done` is called once they are all out, and never at once; false: there are none.
  #send(done) {
    const bytes = this.tls === undefined ? undefined : native.tlsTake(this.tls);
    if (bytes === undefined) return false;
    const end = (status) => {
      this.#sending -= bytes.byteLength;
      done?.(status);
    };
    this.#sending += bytes.byteLength;
    const result = this.stream.writeBuffer({ oncomplete: end }, new Uint8Array(bytes));
    if (result < 0) this.#writeFailed = result;
    if (result < 0 || streamBaseState[kLastWriteWasAsync] !== 1) loop.soon(() => end(Math.min(0, result)));
    return true;
  }
  #writeFailed = 0;
  #sending = 0; // bytes

  // ---- the reader's and writer's side ----

  readStart() {
    this.stream.readStart();
    return 0;
  }
  readStop() {
    this.stream.readStop();
    return 0;
  }

  // In the place of the descriptor's: see stream_wrap.
  writeBytes(request, bytes) {
    if (this.tls === undefined) return -ECANCELED;
    if (this.#writeFailed < 0) return this.#writeFailed;
    this.bytesWritten += bytes.byteLength;
    this.isStarted = true;
    if (!this.isEstablished || this.waiting.length > 0 || this.#isAsked) {
      this.waiting.push({ request, bytes });
      if (!this.inCycle) this.cycle();
    } else {
      this.#encrypt(request, bytes);
    }
    streamBaseState[kBytesWritten] = bytes.byteLength;
    streamBaseState[kLastWriteWasAsync] = 1;
    return this.tlsFailed ? -EPROTO : 0;
  }

  // Is it all taken? The rest waits for the peer.
  #encrypt(request, bytes) {
    for (let at = 0; at < bytes.byteLength;) {
      const took = this.#try(() => native.tlsWrite(this.tls, bytes.subarray(at), this.#answer));
      if (took === undefined) return false;
      if (took < 0) {
        this.waiting.unshift({ request, bytes: bytes.subarray(at) });
        return false;
      }
      at += took;
    }
    const done = (status) => host.complete(request, status, this, undefined);
    if (!this.#send(done)) loop.soon(() => done(this.#writeFailed));
    return true;
  }

  #writeWaiting() {
    while (this.waiting.length > 0 && this.tls !== undefined) {
      const { request, bytes } = this.waiting.shift();
      if (!this.#encrypt(request, bytes)) return;
    }
  }

  shutdown(request) {
    if (this.tls !== undefined && this.isEstablished) {
      native.tlsShutdown(this.tls);
      this.#send();
    }
    return this.stream.shutdown(request);
  }

  // ---- the handshake, as lib/ asks for it ----

  start() {
    this.isStarted = true;
    if (this.isServer) loop.call(this.onhandshakestart, this, loop.now());
    this.cycle();
  }
  destroySSL() {
    if (this.stream?.consumer) this.stream.consumer = noop;
    const waiting = this.waiting.splice(0);
    for (const { request } of waiting) this.later(() => host.complete(request, -ECANCELED, this, undefined));
    this.tls = undefined;
  }
  setVerifyMode(asks, refuses) { native.tlsVerify(this.tls, asks, refuses); }
  setServername(name) { native.tlsSetServerName(this.tls, name); }
  setALPNProtocols(protocols) { native.tlsSetProtocols(this.tls, protocols); }
  setSession(session) { native.tlsSetSession(this.tls, session); }
  setKeyCert(context) { native.tlsAnswerCertificate(this.tls, context.native); }
  enableCertCb() { native.tlsAskForCertificate(this.tls); }
  certCbDone() {
    const chosen = this.sni_context;
    const isNone = typeof chosen === 'object' && chosen !== null && !(chosen instanceof host.SecureContext);
    if (isNone) loop.call(this.onerror, this, new TypeError('Invalid SNI context'));
    if (this.tls === undefined) return;
    native.tlsAnswerCertificate(this.tls, isNone ? undefined : chosen?.native);
    this.isAsking = false;
    this.#goOn();
  }
  #goOn() {
    if (this.inCycle) loop.later(() => this.cycle());
    else this.cycle();
  }
  renegotiate() {
    native.tlsRenegotiate(this.tls);
    this.#goOn();
  }
  enableSessionCallbacks() {
    this.tellsSessions = true;
    if (this.isServer) native.tlsAskForSession(this.tls);
  }
  loadSession(session) { this.#session = session; }
  endParser() {
    if (this.tls === undefined) return;
    native.tlsAnswerSession(this.tls, this.#session ?? undefined);
    this.#goOn();
  }
  #session;
  enableALPNCb() { native.tlsAskForProtocol(this.tls); }
  enablePskCallback() { native.tlsSharedKeys(this.tls); }
  setPskIdentityHint(hint) {
    if (native.tlsKeyHint(this.tls, hint)) return;
    host.inside(this.onerror, this, [Object.assign(new Error('Failed to set PSK identity hint'), { code: 'ERR_TLS_PSK_SET_IDENTITY_HINT_FAILED' })]);
  }
  requestOCSP() {} // OpenSSL is built without it
  setOCSPResponse() {}
  enableKeylogCallback() { if (this.tls) native.tlsLogKeys(this.tls); }
  enableTrace() {}
  newSessionDone() {}
  writesIssuedByPrevListenerDone() { this.cycle(); }
  setMaxSendFragment(size) { return this.tls !== undefined && native.tlsMaxFragment(this.tls, size) ? 1 : 0; }

  // ---- facts of the connection ----

  #facts() { return this.tls === undefined ? [] : native.tlsFacts(this.tls); }
  getProtocol() { return this.#facts()[0] ?? null; }
  getCipher() {
    const [, name, standardName, version] = this.#facts();
    return name === undefined ? {} : { name, standardName, version };
  }
  getServername() { return this.#facts()[4] ?? false; }
  getALPNNegotiatedProtocol() { return this.#facts()[5] ?? false; }
  isSessionReused() { return this.#facts()[6] ?? false; }
  getEphemeralKeyInfo() {
    const [, , , , , , , kind, name, size] = this.#facts();
    if (kind === undefined || this.isServer) return this.isServer ? null : {};
    return kind === 'DH' ? { type: 'DH', size } : { type: 'ECDH', name, size };
  }
  verifyError() {
    const found = native.tlsVerifyResult(this.tls);
    return found && Object.assign(new Error(found[0]), { code: found[1] });
  }
  getSession() {
    const session = this.tls && native.tlsSession(this.tls);
    return session && host.toBuffer(session);
  }
  getTLSTicket() {
    const ticket = this.tls && native.tlsTicket(this.tls);
    return ticket && host.toBuffer(ticket);
  }
  getFinished() { return this.#finished(false); }
  getPeerFinished() { return this.#finished(true); }
  #finished(ofPeer) {
    const bytes = this.tls && native.tlsFinished(this.tls, ofPeer);
    return bytes && host.toBuffer(bytes);
  }
  getSharedSigalgs() { return this.tls ? native.tlsSharedSignatures(this.tls) : []; }
  exportKeyingMaterial(length, label, context) { return host.toBuffer(native.tlsExport(this.tls, length, label, context)); }

  getPeerCertificate(isDetailed) {
    const [first, ...more] = (this.tls ? native.tlsCertificates(this.tls, false) : []).map(withBuffers);
    if (first === undefined || !isDetailed) return first;
    let at = first;
    for (const next of more) at = at.issuerCertificate = next;
    at.issuerCertificate = at;
    return first;
  }
  getPeerX509Certificate() { return x509Of(this.tls && native.tlsCertificates(this.tls, false)); }
  getX509Certificate() { return x509Of(this.tls && native.tlsCertificates(this.tls, true)); }
  getCertificate() { return (this.tls ? native.tlsCertificates(this.tls, true) : []).map(withBuffers)[0]; }

  get fd() { return this.stream?.fd ?? -1; }
  set fd(ignored) {}
  ref() { this.stream.ref?.(); }
  unref() { this.stream.unref?.(); }
  get writeQueueSize() { return this.#sending; }
}

function asLine(bytes) {
  const line = new Uint8Array(bytes.length + 1).fill(0x0a);
  line.set(bytes);
  return host.toBuffer(line.buffer);
}

// Each knows the one behind it.
const x509Of = (certificates) => certificates?.reduceRight((issuer, { raw }) => host.x509(raw, issuer), undefined);

function withBuffers(certificate) {
  for (const name of ['raw', 'pubkey'])
    if (certificate[name]) certificate[name] = host.toBuffer(certificate[name]);
  return certificate;
}

return { TLSWrap, HAVE_SSL_TRACE: false, wrap: (stream, context, isServer) => new TLSWrap(stream, context, isServer) };
