'use strict';
const { loop } = host;
const IPC = 2; // as the binding pipe_wrap numbers it
const names = new Map(Object.entries(native.SIGNALS).reverse().map(([name, number]) => [number, name]));
host.signalName = (number) => (number ? names.get(number) ?? `SIG${number}` : '');

// Descriptors of the child by stdio entries, and the ends that are closed here once it runs.
host.openStdio = (stdio, ours) => {
  const fds = [], closing = [];
  for (const [index, entry] of stdio.entries()) {
    if (entry.type === 'pipe' || entry.type === 'overlapped') {
      if (entry.ipc || entry.handle?.type === IPC || (index > 2 && entry.handle)) { // both sides may read and write
        const [theirs, own] = native.socketPair();
        fds.push(theirs);
        closing.push(theirs);
        ours(entry, index, own, false);
        continue;
      }
      const [reads, writes] = native.pipe();
      const childReads = index === 0 || (entry.readable && !entry.writable);
      fds.push(childReads ? reads : writes);
      closing.push(childReads ? reads : writes);
      ours(entry, index, childReads ? writes : reads, childReads);
    } else if (entry.type === 'ignore') {
      fds.push(-1);
    } else {
      const fd = entry.fd ?? entry.handle?.fd ?? index;
      if (entry.handle && fd > 2) native.setBlocking(fd, true); // it is the child's standard stream now, too
      fds.push(fd);
    }
  }
  return { fds, closing };
};

const DETACHED = 1;

class Process extends host.HandleWrap {
  #referenced = true;
  constructor() { super('PROCESSWRAP'); }

  spawn(file, args, cwd, environment, stdio, flags, uid, gid) {
    if ((uid ?? native.getuid()) !== native.getuid() || (gid ?? native.getgid()) !== native.getgid()) return -native.ERRORS.EPERM;
    const pipes = [];
    const { fds, closing } = host.openStdio(stdio ?? [], (entry, index, fd) => pipes.push([entry, fd]));
    const pid = native.spawn(file, args ?? [file], environment ?? null, cwd || null, fds, Boolean(flags & DETACHED));
    for (const fd of closing) native.close(fd);
    for (const [entry, fd] of pipes) {
      entry.handle.open(fd); // also when nothing was started: it is at its end then
    }
    if (pid < 0) return pid;
    this.pid = pid;
    loop.child(pid, (code, signal) => {
      this.pid = 0;
      loop.call(this.onexit, this, code, host.signalName(signal));
    });
    return 0;
  }
  kill(signal) { return this.pid ? Math.min(0, native.kill(this.pid, signal)) : -native.ERRORS.ESRCH; }
  close(callback) {
    host.closing(this);
    loop.later(() => {
      if (callback) loop.call(callback, this);
      host.closed(this);
    });
  }
  ref() {}
  unref() { if (this.pid) loop.forgetChild(this.pid); }
  hasRef() { return this.#referenced; }
}

return { Process };
