// copy.js - the parts of fs.cpSync that are C++ in Node.
'use strict';

const { FILES, ERRORS } = native;
const KIND = FILES.S_IFMT;
const textOf = (path) => (typeof path === 'string' ? path : native.decode(1, path));
const lazy = (id) => host.require(id);

function fail(code, message, path, errno, name) {
  throw host.nodeError(code, { message, path, syscall: 'cp', errno, code: name });
}

const kindOf = (path, follow) => {
  const fields = new BigInt64Array(18);
  const result = native.stat(path, fields, follow);
  return result < 0 ? { error: result } : { kind: Number(fields[1]) & KIND, device: fields[0], inode: fields[7] };
};
const isSame = (a, b) => a.inode === b.inode && a.device === b.device;
const isWithin = (inner, outer) => inner.startsWith(outer.endsWith('/') ? outer : `${outer}/`);

function checkKinds(from, to, source, target) {
  const isFolder = source.kind === FILES.S_IFDIR;
  if (target.error !== undefined) return;
  if (isSame(source, target)) fail('ERR_FS_CP_EINVAL', 'src and dest cannot be the same', to, ERRORS.EINVAL, 'EINVAL');
  if (isFolder && target.kind !== FILES.S_IFDIR)
    fail('ERR_FS_CP_DIR_TO_NON_DIR', `cannot overwrite non-directory ${to} with directory ${from}`, to, ERRORS.EISDIR, 'EISDIR');
  if (!isFolder && target.kind === FILES.S_IFDIR)
    fail('ERR_FS_CP_NON_DIR_TO_DIR', `cannot overwrite directory ${to} with non-directory ${from}`, to, ERRORS.ENOTDIR, 'ENOTDIR');
}

function checkNesting(from, to, source) {
  const { resolve, dirname } = lazy('path');
  const whole = resolve(to);
  if (source.kind !== FILES.S_IFDIR) return;
  const refuse = () => fail('ERR_FS_CP_EINVAL', `cannot copy ${from} to a subdirectory of self ${to}`, to, ERRORS.EINVAL, 'EINVAL');
  if (isWithin(whole, resolve(from))) refuse();
  for (let at = dirname(whole); at !== dirname(at); at = dirname(at)) {
    const folder = kindOf(at, true);
    if (folder.error === undefined && isSame(folder, source)) refuse();
  }
}

const SPECIAL = new Map([[FILES.S_IFSOCK, ['ERR_FS_CP_SOCKET', 'a socket file']], [FILES.S_IFIFO, ['ERR_FS_CP_FIFO_PIPE', 'a FIFO pipe']]]);

function cpSyncCheckPaths(source, target, dereference, recursive) {
  const from = textOf(source), to = textOf(target);
  const what = kindOf(source, dereference);
  if (what.error !== undefined) throw host.systemError(what.error, 'cp', from);
  checkKinds(from, to, what, kindOf(target, dereference));
  checkNesting(from, to, what);
  if (what.kind === FILES.S_IFDIR && !recursive) {
    throw host.nodeError('ERR_FS_EISDIR', { message: `Recursive option not enabled, cannot copy a directory: ${from}`, path: from, syscall: 'cp',
      errno: ERRORS.EISDIR, code: 'EISDIR' });
  }
  const special = SPECIAL.get(what.kind);
  if (special) fail(special[0], `cannot copy ${special[1]}: ${to}`, to, ERRORS.EINVAL, 'EINVAL');
  const { dirname, resolve } = lazy('path');
  const folder = dirname(resolve(to));
  if (native.modeOf(folder) < 0) lazy('fs').mkdirSync(folder, { recursive: true });
}

function setTimes(from, to) {
  const { atime, mtime } = lazy('fs').statSync(from);
  lazy('fs').utimesSync(to, atime, mtime);
}

function cpSyncOverrideFile(from, to, mode, preserveTimestamps) {
  const fs = lazy('fs');
  fs.unlinkSync(to);
  fs.copyFileSync(from, to, mode);
  if (preserveTimestamps) setTimes(from, to);
}

// ---- a folder without a filter ----

function copyLink(from, to, options) {
  const fs = lazy('fs'), { isAbsolute, resolve, dirname } = lazy('path');
  let leads = fs.readlinkSync(from);
  if (!options.verbatim && !isAbsolute(leads)) leads = resolve(dirname(from), leads);
  const there = kindOf(to, false);
  if (there.error === undefined) {
    if (there.kind === FILES.S_IFLNK) {
      const before = resolve(dirname(to), fs.readlinkSync(to));
      const isFolder = (path) => kindOf(path, true).kind === FILES.S_IFDIR;
      if (isFolder(leads) && (before === leads || isWithin(before, leads)))
        fail('ERR_FS_CP_EINVAL', `cannot copy ${leads} to a subdirectory of self ${before}`, to, ERRORS.EINVAL, 'EINVAL');
      if (isFolder(to) && isWithin(leads, before))
        fail('ERR_FS_CP_SYMLINK_TO_SUBDIRECTORY', `cannot overwrite ${before} with ${leads}`, to, ERRORS.EINVAL, 'EINVAL');
    } else {
      throw host.systemError(-ERRORS.EEXIST, 'cp', to);
    }
    fs.unlinkSync(to);
  }
  fs.symlinkSync(leads, to);
}

function copyFileOf(from, to, options) {
  const fs = lazy('fs');
  if (kindOf(to, false).error === undefined) {
    if (!options.force && options.errorOnExist) fail('ERR_FS_CP_EEXIST', `${to} already exists`, to, ERRORS.EEXIST, 'EEXIST');
    if (!options.force) return;
    fs.unlinkSync(to);
  }
  fs.copyFileSync(from, to);
  if (options.times) setTimes(from, to);
}

function copyFolder(from, to, options) {
  const fs = lazy('fs'), { join } = lazy('path');
  if (kindOf(to, true).kind !== FILES.S_IFDIR) fs.mkdirSync(to, { recursive: true });
  for (const name of fs.readdirSync(from)) {
    const source = join(from, name), target = join(to, name);
    const { kind, error } = kindOf(source, options.follow);
    if (error !== undefined) throw host.systemError(error, 'cp', source);
    const there = kindOf(target, false).kind;
    if (kind === FILES.S_IFDIR) {
      if (there !== undefined && there !== FILES.S_IFDIR && there !== FILES.S_IFLNK)
        fail('ERR_FS_CP_DIR_TO_NON_DIR', `cannot overwrite non-directory ${target} with directory ${source}`, target, ERRORS.EISDIR, 'EISDIR');
      copyFolder(source, target, options);
    } else if (kind === FILES.S_IFLNK) {
      copyLink(source, target, options);
    } else {
      if (there === FILES.S_IFDIR)
        fail('ERR_FS_CP_NON_DIR_TO_DIR', `cannot overwrite directory ${target} with non-directory ${source}`, target, ERRORS.ENOTDIR, 'ENOTDIR');
      copyFileOf(source, target, options);
    }
  }
  fs.chmodSync(to, native.modeOf(from) & 0o7777);
}

function cpSyncCopyDir(from, to, force, follow, errorOnExist, verbatim, times) {
  copyFolder(textOf(from), textOf(to), { force, follow, errorOnExist, verbatim, times });
}

return { cpSyncCheckPaths, cpSyncOverrideFile, cpSyncCopyDir };
