'use strict';
// Digests, HMAC, keys from passwords, randomness, secret keys. What needs asymmetric keys, ciphers or certificates refuses by name.
const { loop } = host;
const { randomFill, equalBytes } = native;
const ASYNC = 0, SYNC = 1, WEB = 2;
const SECRET = 0;

const bytesOf = (data, encoding) => {
  if (typeof data === 'string') return new Uint8Array(native.encode(host.encodingNumber(encoding), data));
  return data instanceof KeyObjectHandle ? data.bytes : data;
};

function encoded(buffer, encoding) {
  if (encoding === undefined || encoding === 'buffer') return host.toBuffer(buffer);
  return native.decode(host.encodingNumber(encoding), buffer);
}

const failure = (message, code) => Object.assign(new Error(message), { code });
const unknownDigest = () => failure('Digest method not supported', 'ERR_OSSL_EVP_UNSUPPORTED');

// ---- digests ----

const ALIASES = { __proto__: null, dss1: 'sha1', 'rsa-sha1': 'sha1', 'rsa-sha256': 'sha256', 'rsa-sha512': 'sha512', 'rsa-md5': 'md5', ssl3_md5: 'md5', 'ssl3-sha1': 'sha1' };
const XOF_LENGTHS = { __proto__: null, shake128: 16, shake256: 32 };
const nameOf = (name) => ALIASES[String(name).toLowerCase()] ?? String(name);

class Hash {
  constructor(algorithm, length) {
    this.digester = algorithm instanceof Hash ? native.digestCopy(algorithm.digester) : native.digestNew(nameOf(algorithm));
    if (this.digester === undefined) throw unknownDigest();
    this.name = algorithm instanceof Hash ? algorithm.name : String(algorithm).toLowerCase();
    this.length = length ?? XOF_LENGTHS[this.name];
    if (length !== undefined && native.digestFinal(native.digestNew(nameOf(this.name)), length) === undefined)
      throw failure('Unsupported state or unable to authenticate', 'ERR_OSSL_EVP_NOT_XOF_OR_INVALID_LENGTH');
  }
  update(data, encoding) { return native.digestUpdate(this.digester, bytesOf(data, encoding)); }
  digest(encoding) {
    this.result ??= native.digestFinal(this.digester, this.length);
    if (this.result === undefined) throw failure('Unsupported state or unable to authenticate', 'ERR_OSSL_EVP_NOT_XOF_OR_INVALID_LENGTH');
    return encoded(this.result, encoding);
  }
}

class Hmac {
  init(digest, key) {
    this.mac = native.hmacNew(nameOf(digest), bytesOf(key));
    if (this.mac === undefined) throw failure(`Invalid digest: ${digest}`, 'ERR_CRYPTO_INVALID_DIGEST');
  }
  update(data, encoding) { return native.hmacUpdate(this.mac, bytesOf(data, encoding)); }
  digest(encoding) { return encoded(native.hmacFinal(this.mac), encoding); }
}

function oneShotDigest(algorithm, id, cache, input, normalized, encodingNumber, length) {
  try {
    const hash = new Hash(algorithm, length);
    hash.update(input, 'utf8');
    return hash.digest(normalized);
  } catch (error) {
    if (error.code !== 'ERR_OSSL_EVP_NOT_XOF_OR_INVALID_LENGTH') throw error;
    error.message = `Output length ${length} is invalid for ${algorithm}, which does not support XOF`;
    throw error;
  }
}

const supported = new Set(['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512', 'sha512-224', 'sha512-256', 'sha3-224', 'sha3-256', 'sha3-384',
  'sha3-512', 'shake128', 'shake256', 'blake2b512', 'blake2s256', 'ripemd160']);
const getHashes = () => [...supported].filter((name) => native.digestNew(name) !== undefined);

// ---- jobs: done at once; the loop says so ----

const checkDigest = (name) => {
  if (native.digestNew(nameOf(name)) === undefined) throw host.nodeError('ERR_CRYPTO_INVALID_DIGEST', name);
};

function job(type, run, check = host.noop) {
  return class Job extends host.AsyncWrap {
    constructor(mode, ...args) {
      super(type);
      check(...args);
      this.mode = mode;
      this.args = args;
    }
    run() {
      let error, result;
      try {
        result = run(...this.args);
      } catch (thrown) {
        error = thrown;
      }
      if (this.mode === SYNC) return [error, result];
      if (this.mode === WEB) return error ? Promise.reject(error) : Promise.resolve(result);
      loop.later(() => {
        loop.call(this.ondone, this, error, result);
        host.untrack(this);
      });
      return undefined;
    }
  };
}

const need = (result, message, code) => {
  if (result === undefined) throw failure(message, code);
  return result;
};

const RandomBytesJob = job('RANDOMBYTESREQUEST', (buffer, offset, size) => void randomFill(buffer, offset, size));
const PBKDF2Job = job('PBKDF2REQUEST', (password, salt, iterations, length, digest) =>
  need(native.pbkdf2(bytesOf(password), bytesOf(salt), iterations, length, nameOf(digest)), 'Deriving bits failed', 'ERR_CRYPTO_OPERATION_FAILED'),
                      (password, salt, iterations, length, digest) => checkDigest(digest));
const BAD_SCRYPT = 'Invalid scrypt params: memory limit exceeded';
const ScryptJob = job('SCRYPTREQUEST', (password, salt, N, r, p, memory, length) =>
  need(native.scrypt(bytesOf(password), bytesOf(salt), N, r, p, memory, length), BAD_SCRYPT, 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS'),
                      (password, salt, N, r, p, memory) => {
                        if (native.scrypt(new Uint8Array(0), new Uint8Array(0), N, r, p, memory, 0) === undefined)
                          throw Object.assign(new RangeError(BAD_SCRYPT), { code: 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS' });
                      });
const HKDFJob = job('DERIVEBITSREQUEST', (digest, key, salt, info, length) =>
  need(native.hkdf(nameOf(digest), bytesOf(key), bytesOf(salt), bytesOf(info), length), 'Deriving bits failed', 'ERR_CRYPTO_OPERATION_FAILED'),
                    (digest, key, salt, info, length) => {
                      checkDigest(digest);
                      if (length > 255 * new Hash(nameOf(digest)).digest().length)
                        throw Object.assign(new RangeError('Invalid key length'), { code: 'ERR_CRYPTO_INVALID_KEYLEN' });
                    });
const HashJob = job('HASHREQUEST', (algorithm, data, length) => {
  const hash = new Hash(algorithm, length === undefined ? undefined : length / 8);
  hash.update(data);
  return hash.digest().buffer;
});
const SecretKeyGenJob = job('KEYGENREQUEST', (bits) => {
  const handle = new KeyObjectHandle();
  const bytes = new Uint8Array(bits / 8);
  randomFill(bytes, 0, bytes.length);
  handle.init(SECRET, bytes);
  return handle;
});
const SIGN = 0, VERIFY = 1;
const HmacJob = job('SIGNREQUEST', (mode, digest, key, data, signature) => {
  const mac = new Hmac();
  mac.init(digest, key);
  mac.update(data);
  const made = mac.digest();
  return mode === SIGN ? made.buffer : made.length === signature.byteLength && equalBytes(made, signature);
});

// ---- keys ----

class KeyObjectHandle {
  init(type, data) {
    if (type !== SECRET) throw failure('only secret keys are supported in a sandbox', 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM');
    this.type = type;
    this.bytes = new Uint8Array(bytesOf(data)).slice();
  }
  export() { return host.toBuffer(this.bytes.slice().buffer); }
  exportJwk(into) { return Object.assign(into, { kty: 'oct', k: native.decode(7, this.bytes) }); }
  getSymmetricKeySize() { return this.bytes.length; }
  equals(other) { return equalBytes(this.bytes, other.bytes); }
}

// What lib/ reads of its keys: [type, handle], and of those of Web Crypto [type, extractable, algorithm, usages, handle].
const keySlots = new WeakMap(), webSlots = new WeakMap();

const createNativeKeyObjectClass = (make) => make(class NativeKeyObject {
  constructor(handle) { keySlots.set(this, [handle.type, handle]); }
});

const createCryptoKeyClass = (make) => make(class NativeCryptoKey {
  constructor(handle, algorithm, usages, extractable) { webSlots.set(this, [handle.type, extractable, algorithm, usages, handle]); }
});

function timingSafeEqual(a, b) {
  const view = (x, name) => {
    if (!ArrayBuffer.isView(x) && native.classOf(x) !== native.CLASS.ARRAY_BUFFER)
      throw host.nodeError('ERR_INVALID_ARG_TYPE', name, ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], x);
    return x;
  };
  if (view(a, 'buf1').byteLength !== view(b, 'buf2').byteLength) throw host.nodeError('ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH');
  return equalBytes(a, b);
}

// ---- TLS: what connections share ----

const TLS1_2 = 0x0303, TLS1_3 = 0x0304;
const [SUITES, CIPHERS, SIGNATURES, CURVES, SESSION_ID] = [0, 1, 2, 3, 4];
const [LOWEST, HIGHEST, OPTIONS, TIMEOUT, DH_AUTO, PARTIAL_CHAIN] = [0, 1, 2, 3, 4, 5];
const METHODS = { __proto__: null, TLS: [0, 0], SSLv23: [0, 0], TLSv1_2: [TLS1_2, TLS1_2] };
const OLD = /^TLSv1(?:_1)?(?:_server|_client)?_method$/;

function versionsOf(method) {
  const found = METHODS[method.replace(/(?:_server|_client)?_method$/, '')];
  const [, old] = /^(SSLv[23])_/.exec(method) ?? [];
  if (old) throw failure(`${old} methods disabled`, 'ERR_TLS_INVALID_PROTOCOL_METHOD');
  if (OLD.test(method) && !found) throw failure(`${method} disabled`, 'ERR_TLS_INVALID_PROTOCOL_METHOD');
  if (!found) throw failure(`Unknown method: ${method}`, 'ERR_TLS_INVALID_PROTOCOL_METHOD');
  return found;
}

let isWarned = false;
function warnOfExtra() {
  const file = isWarned ? undefined : native.getenv('NODE_EXTRA_CA_CERTS');
  isWarned = true;
  if (!file) return;
  const fd = native.open(file, 0, 0);
  if (fd < 0) host.process.emitWarning(`Ignoring extra certs from \`${file}\`, load failed: ${native.errorText(-fd)}`);
  else native.close(fd);
}

class SecureContext {
  init(method, lowest, highest) {
    [this.lowest, this.highest] = typeof method === 'string' ? versionsOf(method) : [lowest, highest];
    this.native = native.tlsContext(Math.max(this.lowest, TLS1_2), this.highest);
  }
  setCert(text) { native.tlsSetCertificate(this.native, bytesOf(text, 'utf8')); }
  setKey(text, password) { native.tlsSetKey(this.native, bytesOf(text, 'utf8'), password); }
  addCACert(text) { native.tlsTrust(this.native, bytesOf(text, 'utf8')); }
  addRootCerts() {
    warnOfExtra();
    native.tlsTrustSystem(this.native);
  }
  addCRL(text) { native.tlsAddRevoked(this.native, bytesOf(text, 'utf8')); }
  loadPKCS12(data, password) { native.tlsLoadPKCS12(this.native, data, password === undefined ? undefined : native.decode(1, password)); }
  setCipherSuites(text) { native.tlsSetText(this.native, SUITES, text); }
  setCiphers(text) { native.tlsSetText(this.native, CIPHERS, text); }
  setSigalgs(text) { native.tlsSetText(this.native, SIGNATURES, text); }
  setECDHCurve(text) { if (text !== 'auto') native.tlsSetText(this.native, CURVES, text); }
  setSessionIdContext(text) { native.tlsSetText(this.native, SESSION_ID, text); }
  setDHParam(parameters) {
    if (parameters === true) {
      native.tlsSetNumber(this.native, DH_AUTO, 1);
      return undefined;
    }
    const bits = native.tlsSetDiffieHellman(this.native, bytesOf(parameters, 'utf8'));
    if (bits === undefined) return undefined; // other parameters are passed over
    if (bits < 1024) throw Object.assign(new Error('DH parameter is less than 1024 bits'), { code: 'ERR_INVALID_ARG_VALUE' });
    return bits < 2048 ? 'DH parameter is less than 2048 bits' : undefined;
  }
  setMinProto(version) { native.tlsSetNumber(this.native, LOWEST, this.lowest = version); }
  setMaxProto(version) { native.tlsSetNumber(this.native, HIGHEST, this.highest = version); }
  getMinProto() { return this.lowest; }
  getMaxProto() { return this.highest || TLS1_3; }
  setOptions(flags) { native.tlsSetNumber(this.native, OPTIONS, flags); }
  setSessionTimeout(seconds) { native.tlsSetNumber(this.native, TIMEOUT, seconds); }
  setAllowPartialTrustChain() { native.tlsSetNumber(this.native, PARTIAL_CHAIN, 1); }
  getCertificate() {
    const bytes = native.tlsOwnCertificate(this.native);
    return bytes === undefined ? null : host.toBuffer(bytes);
  }
  getIssuer() {
    const bytes = native.tlsOwnCertificate(this.native, true);
    return bytes === undefined ? null : host.toBuffer(bytes);
  }
  setTicketKeys(keys) { native.tlsTicketKeys(this.native, keys); }
  getTicketKeys() { return host.toBuffer(native.tlsTicketKeys(this.native)); }
  get _external() {
    if (!Object.hasOwn(this, 'native')) throw new TypeError('Illegal invocation');
    return this.native;
  }
  enableTicketKeyCallback() {}
  close() { this.native = undefined; }
}

host.SecureContext = SecureContext;

// ---- certificates as objects ----

const HOST = 0, EMAIL = 1, ADDRESS = 2;

class X509Handle {
  #facts;
  #issuer;
  constructor(bytes, issuer) {
    this.#facts = native.x509(bytes);
    this.#issuer = issuer;
  }
  get bytes() { return this.#facts.raw; }
  subject() { return this.#facts.subjectLines; }
  issuer() { return this.#facts.issuerLines; }
  subjectAltName() { return this.#facts.subjectaltname; }
  infoAccess() { return this.#facts.infoAccess; }
  validFrom() { return this.#facts.valid_from; }
  validTo() { return this.#facts.valid_to; }
  validFromDate() { return new Date(this.#facts.valid_from); }
  validToDate() { return new Date(this.#facts.valid_to); }
  fingerprint() { return this.#facts.fingerprint; }
  fingerprint256() { return this.#facts.fingerprint256; }
  fingerprint512() { return this.#facts.fingerprint512; }
  keyUsage() { return this.#facts.keyUsage; }
  serialNumber() { return this.#facts.serialNumber; }
  signatureAlgorithm() { return this.#facts.signatureAlgorithm; }
  signatureAlgorithmOid() { return this.#facts.signatureAlgorithmOid; }
  raw() { return host.toBuffer(this.#facts.raw.slice(0)); }
  pem() { return this.#facts.pem; }
  checkCA() { return this.#facts.ca; }
  checkHost(name, flags) { return native.x509Check(this.bytes, HOST, name, flags); }
  checkEmail(email, flags) { return native.x509Check(this.bytes, EMAIL, email, flags); }
  checkIP(address, flags) { return native.x509Check(this.bytes, ADDRESS, address, flags); }
  checkIssued(other) { return native.x509Issued(this.bytes, other.bytes); }
  getIssuerCert() { return this.#issuer; }
  toLegacy() {
    const { subjectLines, issuerLines, keyUsage, signatureAlgorithm, signatureAlgorithmOid, pem, ...legacy } = native.x509(this.bytes);
    for (const name of ['raw', 'pubkey']) if (legacy[name]) legacy[name] = host.toBuffer(legacy[name]);
    return legacy;
  }
  publicKey() { throw failure('public keys are not supported in a sandbox', 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM'); }
  checkPrivateKey() { return this.publicKey(); }
  verify() { return this.publicKey(); }
}
host.x509 = (bytes, issuer) => new X509Handle(bytes, issuer);

// The authorities that are trusted where none are named, when the program has set its own.
let ownAuthorities;
function resetRootCertStore(certificates) {
  try {
    native.tlsSetAuthorities(certificates.map((each) => bytesOf(each, 'utf8')));
  } catch (error) {
    if (error.code !== 'ERR_OSSL_PEM_NO_START_LINE') throw error;
    throw failure('No valid certificates found in the provided array', 'ERR_CRYPTO_OPERATION_FAILED');
  }
  ownAuthorities = [...new Set(certificates.map((each) => native.x509(bytesOf(each, 'utf8')).pem))];
}

function readCertificates(path) {
  const fd = path ? native.open(path, 0, 0) : -1;
  if (fd < 0) return [];
  const bytes = native.readAll(fd);
  native.close(fd);
  if (typeof bytes === 'number') return [];
  return (native.decode(1, bytes).match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map((text) => `${text}\n`);
}
const systemCertificates = () => readCertificates(native.getenv('SSL_CERT_FILE') ?? '/etc/ssl/certs/ca-certificates.crt');

return {
  SecureContext, getBundledRootCertificates: () => systemCertificates().map((text) => text.trim()), getSystemCACertificates: systemCertificates,
  getExtraCACertificates: () => readCertificates(native.getenv('NODE_EXTRA_CA_CERTS')), getUserRootCertificates: () => ownAuthorities ?? [], resetRootCertStore, parseX509: (bytes) => host.x509(bytes),
  startLoadingCertificatesOffThread: host.noop, getCertificateCompressionAlgorithms: () => [],
  Hash, Hmac, oneShotDigest, getHashes, getCachedAliases: () => ({}), RandomBytesJob, PBKDF2Job, ScryptJob, HKDFJob, HashJob, HmacJob, SecretKeyGenJob, kSignJobModeSign: SIGN, kSignJobModeVerify: VERIFY,
  KeyObjectHandle, createNativeKeyObjectClass, createCryptoKeyClass, getKeyObjectSlots: (key) => keySlots.get(key), getCryptoKeySlots: (key) => webSlots.get(key),
  kCryptoJobAsync: ASYNC, kCryptoJobSync: SYNC, kCryptoJobWebCrypto: WEB, kKeyTypeSecret: SECRET, kKeyTypePublic: 1, kKeyTypePrivate: 2,
  timingSafeEqual, secureBuffer: (length) => new Uint8Array(length), secureHeapUsed: () => undefined, getFipsCrypto: () => 0, setFipsCrypto: host.noop,
  testFipsCrypto: () => false, getCiphers: () => [], getSSLCiphers: () => native.tlsCiphers().map((name) => name.toLowerCase()), getCurves: () => [], setEngine: host.noop,
  getOpenSSLSecLevelCrypto: () => native.tlsSecurityLevel(), getCipherInfo: host.noop,
};
