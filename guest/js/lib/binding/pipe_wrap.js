'use strict';
host.internalBinding('tcp_wrap');
const { SOCKETS, ERRORS } = native;
const SOCKET = 0, SERVER = 1, IPC = 2;
const FIFO = 0o010000, KIND = 0o170000;

const PATH_MAX = 108; // of an address
const READABLE = 1, WRITABLE = 2;
const pathBytes = (path) => (typeof path === 'string' ? new Uint8Array(native.encode(1, path)) : path);

const KINDS = new Map([[0, ['tcp_wrap', 'TCP']], [2, ['udp_wrap', 'UDP']]]);

function handleOf(fd) {
  const [binding, name] = KINDS.get(native.socketKind(fd)) ?? ['pipe_wrap', 'Pipe'];
  const handle = new (host.internalBinding(binding)[name])(SOCKET);
  handle.open(fd);
  return handle;
}

// Unix sockets, and pipes, which can be read or written alone.
class Pipe extends host.SocketWrap {
  constructor(type) { super(type, type === SERVER ? 'PIPESERVERWRAP' : 'PIPEWRAP'); }

  open(fd) {
    this.isFifo = (native.modeOfDescriptor(fd) & KIND) === FIFO;
    if (fd > 2) native.setBlocking(fd, false);
    return this.take(fd);
  }

  // A channel of messages between processes: a socket may come beside the bytes, and is `pendingHandle` when they are read.
  transmit(bytes, at, handle) {
    return at === 0 && handle?.fd >= 0 ? native.socketGive(this.fd, bytes, at, handle.fd) : super.transmit(bytes, at);
  }
  receive(buffer) {
    if (this.type !== IPC) return super.receive(buffer);
    const came = native.socketTake(this.fd, buffer);
    if (typeof came === 'number') return came;
    const [count, fd] = came;
    if (fd >= 0) this.pendingHandle = handleOf(fd);
    return count;
  }

  finish() {
    if (!this.isFifo) return super.finish();
    if (!this.reading) this.release();
    return 0;
  }

  #open() {
    if (this.fd >= 0) return 0;
    const fd = native.socketOpen(SOCKETS.AF_UNIX, SOCKETS.SOCK_STREAM);
    return fd < 0 ? fd : this.take(fd);
  }
  bind(path) {
    if (pathBytes(path).byteLength > PATH_MAX) return -ERRORS.EINVAL;
    const opened = this.#open();
    if (opened < 0) return opened;
    const result = native.socketBind(this.fd, pathBytes(path));
    if (result === 0 && path[0] !== '\0') this.boundTo = path;
    return result;
  }
  connect(request, path) {
    if (pathBytes(path).byteLength > PATH_MAX) return -ERRORS.EINVAL;
    const opened = this.#open();
    return opened < 0 ? opened : this.connectTo(request, pathBytes(path));
  }
  close(callback) {
    if (this.boundTo !== undefined) native.unlink(this.boundTo);
    this.boundTo = undefined;
    super.close(callback);
  }

  // Others may connect.
  fchmod(mode) {
    if (this.boundTo === undefined) return -ERRORS.EBADF;
    return native.chmod(this.boundTo, native.modeOf(this.boundTo) & 0o7777 | (mode & READABLE ? 0o444 : 0) | (mode & WRITABLE ? 0o222 : 0));
  }
  setPendingInstances() {}
}

return { Pipe, PipeConnectWrap: host.requestClass('PIPECONNECTWRAP'), constants: { SOCKET, SERVER, IPC, UV_READABLE: READABLE, UV_WRITABLE: WRITABLE } };
