'use strict';
const { loop } = host;
const { SOCKETS, ERRORS } = native;
const { AF_INET, AF_INET6, SOCK_DGRAM, SOL_SOCKET, SO_REUSEADDR, SO_REUSEPORT, SO_BROADCAST, SO_RCVBUF, SO_SNDBUF, IPPROTO_IP, IP_TTL,
  IP_MULTICAST_TTL, IP_MULTICAST_LOOP, IPPROTO_IPV6, IPV6_V6ONLY } = SOCKETS;
const IPV6ONLY = 1, REUSEADDR = 4, REUSEPORT = 64;
const DATAGRAM_MAX = 65536;
const TTL_MAX = 255;
const POLL_IN = 1;
const MESSAGES_MAX = 32; // at one go
const familyName = (family) => (family === AF_INET6 ? 'IPv6' : 'IPv4');

const descriptors = new Set(); // that handles have: each has one of its own

class UDP extends host.HandleWrap {
  constructor() { super('UDPWRAP'); }

  #fd = -1;
  #family = 0;
  #watched;
  #referenced = true;

  get fd() { return this.#fd; }
  #open(family) {
    if (this.#fd >= 0) return 0;
    const fd = native.socketOpen(family, SOCK_DGRAM);
    if (fd < 0) return fd;
    descriptors.add(fd);
    this.#fd = fd;
    this.#family = family;
    return 0;
  }
  open(fd) {
    if (descriptors.has(fd)) return -ERRORS.EEXIST;
    descriptors.add(fd);
    native.setBlocking(fd, false);
    this.#fd = fd;
    return 0;
  }

  #bind(family, address, port, flags) {
    const opened = this.#open(family);
    if (opened < 0) return opened;
    if (flags & REUSEADDR) native.socketSet(this.#fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (flags & REUSEPORT) native.socketSet(this.#fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (flags & IPV6ONLY) native.socketSet(this.#fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    return native.socketBind(this.#fd, address, port);
  }
  bind(address, port, flags) { return this.#bind(AF_INET, address, port, flags); }
  bind6(address, port, flags) { return this.#bind(AF_INET6, address, port, flags); }

  #connect(family, address, port) {
    const opened = this.#open(family);
    return opened < 0 ? opened : native.socketConnect(this.#fd, address, port);
  }
  connect(address, port) { return this.#connect(AF_INET, address, port); }
  connect6(address, port) { return this.#connect(AF_INET6, address, port); }
  disconnect() { return native.socketConnect(this.#fd, this.#family === AF_INET6 ? '::' : '0.0.0.0', 0); }

  // A datagram goes at once or not at all: 1 more than its length.
  #send(family, list, rest) {
    const [port, address] = rest.length > 1 ? rest : [];
    const opened = this.#open(family);
    if (opened < 0) return opened;
    const message = list.length === 1 ? list[0] : host.require('buffer').Buffer.concat(list);
    const sent = native.socketSend(this.#fd, message, address ?? undefined, port);
    return sent < 0 ? sent : sent + 1;
  }
  send(request, list, count, ...rest) { return this.#send(AF_INET, list, rest); }
  send6(request, list, count, ...rest) { return this.#send(AF_INET6, list, rest); }

  recvStart() {
    this.#watched ??= loop.watch(this.#fd, POLL_IN, () => this.#receive(), this.#referenced);
    return 0;
  }
  recvStop() {
    if (this.#watched) loop.forget(this.#fd, this.#watched);
    this.#watched = undefined;
    return 0;
  }
  #receive() {
    for (let i = 0; i < MESSAGES_MAX && this.#watched; i++) {
      const buffer = new ArrayBuffer(DATAGRAM_MAX);
      const got = native.socketReceive(this.#fd, buffer);
      if (got === -ERRORS.EAGAIN) return;
      if (typeof got === 'number') {
        loop.call(this.onmessage, this, got, this, undefined, undefined);
        return;
      }
      const [address, port, family, length] = got;
      const message = host.toBuffer(buffer.slice(0, length));
      loop.call(this.onmessage, this, length, this, message, { address, family: familyName(family), port });
    }
  }

  #name(into, found) {
    if (typeof found === 'number') return found;
    const [address, port, family] = found;
    Object.assign(into, { address, family: familyName(family), port });
    return 0;
  }
  getsockname(into) { return this.#name(into, native.socketName(this.#fd)); }
  getpeername(into) { return this.#name(into, native.socketPeer(this.#fd)); }

  setBroadcast(on) { return native.socketSet(this.#fd, SOL_SOCKET, SO_BROADCAST, on); }
  setTTL(value) { return value < 1 || value > TTL_MAX ? -ERRORS.EINVAL : native.socketSet(this.#fd, IPPROTO_IP, IP_TTL, value); }
  // Where no multicast is, nothing depends on these.
  #multicast(option, value) {
    const result = native.socketSet(this.#fd, IPPROTO_IP, option, value);
    return result === -ERRORS.ENOPROTOOPT ? 0 : result;
  }
  setMulticastTTL(value) { return value < 0 || value > TTL_MAX ? -ERRORS.EINVAL : this.#multicast(IP_MULTICAST_TTL, value); }
  setMulticastLoopback(on) { return this.#fd < 0 ? -ERRORS.EBADF : this.#multicast(IP_MULTICAST_LOOP, on); }
  // No group can be joined: there is no network that has any.
  #group(address) { return host.require('net').isIP(address) === (this.#family === AF_INET6 ? 6 : 4) ? -ERRORS.ENODEV : -ERRORS.EINVAL; }
  addMembership(address) { return this.#group(address); }
  dropMembership(address) { return this.#group(address); }
  addSourceSpecificMembership(source, group) { return this.#group(group); }
  dropSourceSpecificMembership(source, group) { return this.#group(group); }
  setMulticastInterface(address) {
    const found = this.#group(String(address).replace(/%.*$/, ''));
    if (this.#fd < 0) return -ERRORS.EBADF;
    if (found === -ERRORS.EINVAL) return found;
    return /^(0\.0\.0\.0|127\..*|::1?)$/.test(address.replace(/%.*$/, '')) ? 0 : -ERRORS.EADDRNOTAVAIL;
  }
  bufferSize(size, isReceive, context) {
    const option = isReceive ? SO_RCVBUF : SO_SNDBUF;
    const result = size !== (size | 0) ? -ERRORS.EINVAL : size ? native.socketSet(this.#fd, SOL_SOCKET, option, size) : 0;
    const now = result < 0 ? result : native.socketGet(this.#fd, SOL_SOCKET, option);
    if (now >= 0) return now;
    const [code, message] = host.errorMap.get(now) ?? ['UNKNOWN', 'unknown error'];
    Object.assign(context, { errno: now, code, message, syscall: `uv_${isReceive ? 'recv' : 'send'}_buffer_size` });
    return undefined;
  }
  getSendQueueSize() { return 0; }
  getSendQueueCount() { return 0; }

  close(callback) {
    host.closing(this);
    this.recvStop();
    descriptors.delete(this.#fd);
    if (this.#fd >= 0) native.close(this.#fd);
    this.#fd = -1;
    loop.later(() => {
      if (typeof callback === 'function') loop.call(callback, this);
      host.closed(this);
    });
  }
  ref() { this.#reference(true); }
  unref() { this.#reference(false); }
  #reference(on) {
    this.#referenced = on;
    if (this.#watched) this.#watched.ref = on;
  }
  hasRef() { return this.#referenced; }
}

return { UDP, SendWrap: host.requestClass('UDPSENDWRAP'), constants: { UV_UDP_IPV6ONLY: IPV6ONLY, UV_UDP_REUSEADDR: REUSEADDR, UV_UDP_REUSEPORT: REUSEPORT } };
