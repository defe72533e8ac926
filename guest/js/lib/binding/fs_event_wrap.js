'use strict';
const { loop } = host;
const { ENOENT } = native.ERRORS;

// fs.watch: changes in a folder, or of a file.
class FSEvent extends host.HandleWrap {
  constructor() { super('FSEVENTWRAP'); }

  #fd = -1;
  #item;
  #referenced = true;

  get initialized() { return this.#fd >= 0; }

  start(path, persistent, recursive, encoding) {
    if (this.initialized) return 0;
    if (native.modeOf(path) < 0) return -ENOENT;
    const fd = native.watchOpen(path);
    if (fd < 0) return fd;
    this.#fd = fd;
    if (!persistent) this.#referenced = false;
    const own = host.require('path').basename(typeof path === 'string' ? path : native.decode(1, path));
    this.#item = loop.watch(fd, undefined, () => this.#read(own, encoding), this.#referenced);
    return 0;
  }

  #read(own, encoding) {
    const found = native.watchRead(this.#fd);
    for (let i = 0; i < found.length && this.initialized; i += 2)
      loop.call(this.onchange, this, 0, found[i] ? 'rename' : 'change', this.#name(found[i + 1] ?? new Uint8Array(native.encode(1, own)), encoding));
  }

  #name(bytes, encoding) {
    if (encoding === 'buffer') return host.toBuffer(bytes.buffer ?? bytes);
    return native.decode(host.encodingNumber(encoding), bytes);
  }

  close() {
    if (!this.initialized) return;
    loop.forget(this.#fd, this.#item);
    native.close(this.#fd);
    this.#fd = -1;
    host.closed(this);
  }

  #refer(on) {
    this.#referenced = on;
    if (this.#item) this.#item.ref = on;
  }
  ref() { this.#refer(true); }
  unref() { this.#refer(false); }
  hasRef() { return this.initialized && this.#referenced; }
}

return { FSEvent };
