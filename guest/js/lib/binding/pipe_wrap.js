'use strict';
host.internalBinding('stream_wrap');

class Pipe extends host.LibuvStreamWrap {
  constructor(type) {
    super();
    this.type = type;
  }
  open(fd) {
    if (fd > 2) native.setBlocking(fd, false);
    return this.take(fd);
  }
  fchmod() { return 0; }
}

return { Pipe, PipeConnectWrap: class {}, constants: { SOCKET: 0, SERVER: 1, IPC: 2, UV_READABLE: 1, UV_WRITABLE: 2 } };
