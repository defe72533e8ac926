'use strict';
host.internalBinding('stream_wrap');

class TTY extends host.LibuvStreamWrap {
  constructor(fd, context) {
    super('TTYWRAP');
    if (!native.isatty(fd)) Object.assign(context, { errno: -native.ERRORS.ENOTTY, code: 'ENOTTY', message: 'inappropriate ioctl for device', syscall: 'uv_tty_init' });
    this.take(fd);
  }
  getWindowSize(into) {
    const [columns, rows] = native.windowSize?.(this.fd) ?? [80, 24];
    into[0] = columns;
    into[1] = rows;
    return 0;
  }
  setRawMode(on) { return native.setRawMode?.(this.fd, Boolean(on)) ?? 0; }
  setBlocking() { return 0; }
}

return { TTY, isTTY: (fd) => native.isatty(fd) };
