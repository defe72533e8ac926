'use strict';
// Every call is made at once. With a request its outcome is delivered by the loop: nothing here waits beside the program.
const { loop, systemError, perIsolateSymbols, errorMap } = host;
const { FILES, ERRORS } = native;
const PROMISES = perIsolateSymbols.fs_use_promises_symbol;
const UTF8 = 1;
const FIELDS = 18;
const CHUNK = 65536;

// ---- outcomes ----

const failed = (result) => typeof result === 'number' && result < 0;
const textOf = (path) => (typeof path === 'string' ? path : native.decode(UTF8, path));

function later(request, error, result) {
  if (request === PROMISES)
    return new Promise((resolve, reject) => { loop.later(() => (error ? reject(error) : resolve(result))); });
  host.begin(request);
  loop.later(() => {
    if (error) host.complete(request, error);
    else if (result === undefined) host.complete(request, null);
    else host.complete(request, null, result);
  });
  return undefined;
}

// A call with `count` arguments of its own, after which the request comes. `paths` of them are named in errors.
function operation(count, syscall, f, paths = 1) {
  return function (...args) {
    const request = args[count];
    let error, result;
    try {
      result = f(...args);
      if (failed(result)) error = systemError(result, syscall, paths > 0 ? textOf(args[0]) : undefined, paths > 1 ? textOf(args[1]) : undefined);
    } catch (thrown) {
      error = thrown;
    }
    if (request !== undefined) return later(request, error, result);
    if (error) throw error;
    return result;
  };
}

const silent = (f) => (...args) => {
  const result = f(...args);
  return failed(result) ? result : undefined;
};

// A descriptor that the C++ of Node checks, too.
const checkedFd = (fd) => host.require('internal/fs/utils').getValidatedFd(fd);
const ofDescriptor = (f) => (fd, ...more) => f(checkedFd(fd), ...more);

// Names are bytes to the system.
function inEncoding(bytes, encoding) {
  if (typeof bytes === 'number') return bytes;
  if (encoding === 'buffer') return host.toBuffer(bytes);
  return native.decode(host.encodingNumber(encoding), bytes);
}

// ---- stat ----

const statValues = new Float64Array(2 * FIELDS), bigintStatValues = new BigInt64Array(2 * FIELDS);

function statInto(call, big) {
  const fields = big ? new BigInt64Array(FIELDS) : new Float64Array(FIELDS);
  const result = call(fields);
  return failed(result) ? result : fields;
}
const isAbsent = (result) => result === -ERRORS.ENOENT || result === -ERRORS.ENOTDIR;

function statOf(syscall, follow) {
  return (path, big, request, throwIfNoEntry = true) => {
    const result = statInto((fields) => native.stat(path, fields, follow), big);
    const absent = throwIfNoEntry === false && isAbsent(result);
    const error = failed(result) && !absent ? systemError(result, syscall, textOf(path)) : undefined;
    if (request !== undefined) return later(request, error, absent ? undefined : result);
    if (error) throw error;
    return absent ? undefined : result;
  };
}

function fstat(given, big, request, shouldNotThrow) {
  const fd = checkedFd(given);
  const result = statInto((fields) => native.fstat(fd, fields), big);
  if (request === undefined && shouldNotThrow && failed(result)) return undefined;
  const error = failed(result) ? systemError(result, 'fstat') : undefined;
  if (request !== undefined) return later(request, error, result);
  if (error) throw error;
  return result;
}

function statfs(path, big) {
  const fields = native.statfs(path);
  if (failed(fields)) return fields;
  const [type, size, ...rest] = fields;
  const all = [type, size, size, ...rest]; // fragments are as large as blocks
  return big ? BigInt64Array.from(all, BigInt) : Float64Array.from(all);
}

// ---- reading and writing ----

const read = (fd, buffer, offset, length, position) => native.read(fd, buffer, offset, length, place(position));
const write = (fd, buffer, offset, length, position) => native.write(fd, buffer, offset ?? 0, length ?? buffer.byteLength, place(position));
const place = (position) => (position === null || position === undefined || position < 0 ? undefined : position);

function each(f) {
  return (fd, buffers, position) => {
    let total = 0;
    let at = place(position);
    for (const buffer of buffers) {
      const count = f(fd, buffer, 0, buffer.byteLength, at);
      if (count < 0) return total || count;
      total += count;
      if (at !== undefined) at = typeof at === 'bigint' ? at + BigInt(count) : at + count;
      if (count < buffer.byteLength) break;
    }
    return total;
  };
}

function writeAll(fd, bytes) {
  let at = 0;
  while (at < bytes.byteLength) {
    const count = native.write(fd, bytes, at, bytes.byteLength - at);
    if (count < 0) return count;
    at += count;
  }
  return at;
}

// An error goes into the object that comes last, where there is one.
function withContext(f, count) {
  const asked = operation(count, 'write', f, 0);
  return (...args) => {
    const context = args[count + 1];
    if (context === undefined) return asked(...args);
    const result = f(...args);
    if (failed(result)) Object.assign(context, { errno: result, code: errorMap.get(result)?.[0], syscall: 'write' });
    return result;
  };
}

const writeString = (fd, text, position, encoding) => write(fd, native.encode(host.encodingNumber(encoding), text), 0, undefined, position);

function opened(path, flags, mode, syscall, f) {
  const fd = typeof path === 'number' ? path : native.open(path, flags, mode);
  if (fd < 0) throw systemError(fd, 'open', textOf(path));
  const result = f(fd);
  if (typeof path !== 'number') native.close(fd);
  if (failed(result)) throw systemError(result, syscall, typeof path === 'number' ? undefined : textOf(path));
  return result;
}

const readFileUtf8 = (path, flags) => native.decode(UTF8, opened(path, flags, 0o666, 'read', native.readAll));
const writeFileUtf8 = (path, text, flags, mode) =>
  void opened(path, flags, mode, 'write', (fd) => writeAll(fd, new Uint8Array(native.encode(UTF8, text))));

function copyFile(from, to, mode) {
  const source = native.open(from, FILES.O_RDONLY, 0);
  if (source < 0) return source;
  const permissions = native.modeOfDescriptor(source) & 0o777;
  const flags = FILES.O_WRONLY | FILES.O_CREAT | (mode & 1 ? FILES.O_EXCL : 0);
  const target = native.open(to, flags, permissions);
  let result = target;
  if (target >= 0) {
    const buffer = new Uint8Array(CHUNK);
    result = native.ftruncate(target, 0);
    for (let count; result >= 0 && (count = native.read(source, buffer, 0, CHUNK)) !== 0;)
      result = count < 0 ? count : writeAll(target, buffer.subarray(0, count));
    native.fchmod(target, permissions);
    native.close(target);
  }
  native.close(source);
  return failed(result) ? result : undefined;
}

// ---- folders ----

function mkdir(path, mode, recursive) {
  if (!recursive) return silent(native.mkdir)(path, mode);
  const whole = textOf(path);
  let first;
  for (let at = whole.indexOf('/', 1); ; at = whole.indexOf('/', at + 1)) {
    const part = at < 0 ? whole : whole.slice(0, at);
    const result = native.mkdir(part, mode);
    if (result >= 0) first ??= host.require('path').resolve(part);
    else if (result !== -ERRORS.EEXIST && result !== -ERRORS.EISDIR) return result;
    else if ((native.modeOf(part) & FILES.S_IFMT) !== FILES.S_IFDIR) return at < 0 ? result : -ERRORS.ENOTDIR;
    if (at < 0) return first;
  }
}

function readdir(path, encoding, withTypes) {
  const list = native.readdir(path);
  if (failed(list)) return list;
  const names = [], types = [];
  for (let i = 0; i < list.length; i += 2) {
    names.push(inEncoding(list[i], encoding));
    types.push(list[i + 1]);
  }
  return withTypes ? [names, types] : names;
}

const isFolder = (path) => {
  const fields = new Float64Array(FIELDS);
  const result = native.stat(path, fields, false);
  return failed(result) ? result : (fields[1] & FILES.S_IFMT) === FILES.S_IFDIR;
};

// Names are bytes, which need not be text.
function joinBytes(path, name) {
  const folder = typeof path === 'string' ? new Uint8Array(native.encode(UTF8, path)) : path;
  const whole = new Uint8Array(folder.length + 1 + name.length);
  whole.set(folder);
  whole[folder.length] = 0x2f;
  whole.set(name, folder.length + 1);
  return whole;
}

function removeTree(path) {
  const folder = isFolder(path);
  if (failed(folder)) return folder;
  if (!folder) return native.unlink(path);
  const list = native.readdir(path);
  for (let i = 0; !failed(list) && i < list.length; i += 2) {
    const result = removeTree(joinBytes(path, new Uint8Array(list[i])));
    if (failed(result)) return result;
  }
  return native.rmdir(path);
}

function rmSync(path, retries, recursive) {
  const folder = isFolder(path);
  if (folder === -ERRORS.ENOENT) return;
  if (folder === true && !recursive) throw host.nodeError('ERR_FS_EISDIR', { code: 'EISDIR', message: 'is a directory', path: textOf(path), syscall: 'rm', errno: ERRORS.EISDIR });
  const result = failed(folder) ? folder : recursive ? removeTree(path) : native.unlink(path);
  if (failed(result)) throw systemError(result, 'rm', textOf(path));
}

// ---- what the loaders of modules ask ----

function internalModuleStat(...args) {
  const mode = native.modeOf(String(args.at(-1)));
  return mode < 0 ? mode : (mode & FILES.S_IFMT) === FILES.S_IFDIR ? 1 : 0;
}

function legacyMainResolve(folder, main, base) {
  const names = main ? [main, `${main}.js`, `${main}.json`, `${main}.node`, `${main}/index.js`, `${main}/index.json`, `${main}/index.node`] : [];
  const all = [...names, ...new Array(7 - names.length), 'index.js', 'index.json', 'index.node'];
  const found = all.findIndex((name) => name !== undefined && internalModuleStat(folder + name) === 0);
  if (found < 0) throw host.nodeError('ERR_MODULE_NOT_FOUND', folder, base?.startsWith('file:') ? host.require('internal/url').fileURLToPath(base) : base, undefined);
  return found;
}

// ---- objects ----

class FSReqCallback extends host.AsyncWrap {
  constructor(bigint) {
    super('FSREQCALLBACK');
    this.bigint = bigint;
  }
}

// A file that nothing refers to any more is closed, and the program is told.
const lost = new FinalizationRegistry((held) => {
  if (held.fd < 0) return;
  native.close(held.fd);
  const { process } = host;
  process.emitWarning(`Closing file descriptor ${held.fd} on garbage collection`);
  process.emitWarning('Closing a FileHandle object on garbage collection is deprecated. Please close FileHandle objects explicitly using ' +
    'FileHandle.prototype.close(). In the future, an error will be thrown if a file descriptor is closed during garbage collection.',
                      'DeprecationWarning', 'DEP0137');
});

class FileHandle extends host.AsyncWrap {
  #held;
  constructor(fd) {
    super('FILEHANDLE');
    this.#held = { fd };
    lost.register(this, this.#held);
  }
  get fd() { return this.#held.fd; }
  set fd(fd) { this.#held.fd = fd; }
  close() {
    const fd = this.fd;
    this.fd = -1;
    return operation(1, 'close', silent(native.close), 0)(fd, PROMISES);
  }
  releaseFD() {
    const fd = this.fd;
    this.fd = -1;
    return fd;
  }
  get isStreamBase() { return true; }
}
host.isFileHandle = (value) => value instanceof FileHandle;
host.moveFileHandle = (handle) => new FileHandle(handle.releaseFD());

// fs.watchFile: looks every so often.
class StatWatcher extends host.HandleWrap {
  constructor(big) {
    super('STATWATCHER');
    this.big = big;
  }
  start(path, interval) {
    this.look = () => statInto((fields) => native.stat(path, fields, true), this.big);
    const first = this.look();
    this.last = this.#fields();
    if (failed(first)) loop.later(() => this.timer && this.#tell(first, this.last)); // a file that is not there is told of once
    this.timer = host.require('timers').setInterval(() => this.#check(), interval);
    return 0;
  }
  #fields() {
    const now = this.look();
    return failed(now) ? (this.big ? new BigInt64Array(FIELDS) : new Float64Array(FIELDS)) : now;
  }
  #check() {
    const now = this.#fields();
    if (now.every((value, i) => i === 10 || i === 11 || value === this.last[i])) return;
    this.#tell(0, now);
  }
  #tell(status, now) {
    const both = this.big ? new BigInt64Array(2 * FIELDS) : new Float64Array(2 * FIELDS);
    both.set(now);
    both.set(this.last, FIELDS);
    this.last = now;
    loop.call(this.onchange, this, status, both);
  }
  close() {
    host.require('timers').clearInterval(this.timer);
    host.closed(this);
  }
  hasRef() { return this.timer?.hasRef() ?? false; }
  ref() { this.timer?.ref(); }
  unref() { this.timer?.unref(); }
}

const path1 = (name, count, syscall = name) => operation(count, syscall, silent(native[name]));
const descriptor = (name, count, syscall = name) => ofDescriptor(operation(count, syscall, silent(native[name]), 0));

// Its C++ checks the mode, too, before anything is begun.
const MODE_MAX = 7;
const inMode = (at, f) => (...args) => {
  if (args[at] === null || args[at] === undefined) args[at] = 0;
  host.require('internal/validators').validateInteger(args[at], 'mode', 0, MODE_MAX);
  return f(...args);
};

const closeDescriptor = descriptor('close', 1);
function close(fd, ...more) {
  if (fd === 1 || fd === 2) host.outputClosed = true;
  return closeDescriptor(fd, ...more);
}

return {
  kUsePromises: PROMISES, kFsStatsFieldsNumber: FIELDS, statValues, bigintStatValues, statFsValues: new Float64Array(7),
  bigintStatFsValues: new BigInt64Array(7), FSReqCallback, FileHandle, StatWatcher,
  stat: statOf('stat', true), lstat: statOf('lstat', false), fstat, statfs: operation(2, 'statfs', statfs),
  open: operation(3, 'open', native.open),
  openFileHandle: operation(3, 'open', (path, flags, mode) => {
    const fd = native.open(path, flags, mode);
    return fd < 0 ? fd : new FileHandle(fd);
  }),
  close, access: inMode(1, path1('access', 2)), existsSync: (path) => native.modeOf(path) >= 0,
  read: ofDescriptor(operation(5, 'read', read, 0)), readBuffers: operation(3, 'read', each(read), 0), readFileUtf8,
  writeBuffer: withContext(write, 5), writeBuffers: operation(3, 'write', each(write), 0), writeString: withContext(writeString, 4), writeFileUtf8,
  copyFile: inMode(2, operation(3, 'copyfile', copyFile, 2)),
  mkdir: operation(3, 'mkdir', mkdir), readdir: operation(3, 'scandir', readdir), rmdir: path1('rmdir', 1), rmSync,
  unlink: path1('unlink', 1), rename: operation(2, 'rename', silent(native.rename), 2), link: operation(2, 'link', silent(native.link), 2),
  symlink: operation(3, 'symlink', (target, path) => silent(native.symlink)(target, path), 2),
  readlink: operation(2, 'readlink', (path, encoding) => inEncoding(native.readlink(path), encoding)),
  realpath: operation(2, 'realpath', (path, encoding) => inEncoding(native.realpath(path), encoding)),
  mkdtemp: operation(2, 'mkdtemp', (prefix, encoding) => inEncoding(native.mkdtemp(`${textOf(prefix)}XXXXXX`), encoding)),
  chmod: path1('chmod', 2), fchmod: descriptor('fchmod', 2), chown: path1('chown', 3), fchown: descriptor('fchown', 3),
  lchown: path1('lchown', 3), ftruncate: descriptor('ftruncate', 2), fsync: descriptor('fsync', 1), fdatasync: descriptor('fdatasync', 1),
  utimes: operation(3, 'utime', (path, atime, mtime) => silent(native.utimes)(path, atime, mtime, true)),
  lutimes: operation(3, 'lutime', (path, atime, mtime) => silent(native.utimes)(path, atime, mtime, false)),
  futimes: ofDescriptor(operation(3, 'futime', silent(native.futimes), 0)),
  ...host.part('fs/copy'), internalModuleStat, legacyMainResolve, getFormatOfExtensionlessFile: () => 0,
};
