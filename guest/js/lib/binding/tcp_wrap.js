'use strict';
host.internalBinding('stream_wrap');
const { loop } = host;
const { SOCKETS, ERRORS } = native;
const { AF_INET, AF_INET6, SOCK_STREAM, SOL_SOCKET, SO_REUSEADDR, SO_REUSEPORT, SO_KEEPALIVE, IPPROTO_TCP, TCP_NODELAY, TCP_KEEPIDLE,
  TCP_KEEPINTVL, TCP_KEEPCNT, IPPROTO_IPV6, IPV6_V6ONLY, IPPROTO_IP, IP_TOS } = SOCKETS;
const IPV6ONLY = 1, REUSEPORT = 2;
const SOCKET = 0, SERVER = 1;
const POLL_IN = 1, POLL_OUT = 4;
const ACCEPT_MAX = 64; // at one go, so that a busy server does not starve what else there is

function putEndpoint(into, endpoint) {
  if (typeof endpoint === 'number') return endpoint;
  const [address, port, family] = endpoint;
  Object.assign(into, { address, family: family === AF_INET6 ? 'IPv6' : 'IPv4', port });
  return 0;
}

// ---- what sockets of the network and Unix sockets have in common ----

class SocketWrap extends host.LibuvStreamWrap {
  constructor(type, name) {
    super(name);
    this.type = type;
  }

  finish() { return this.fd < 0 ? -ERRORS.ENOTCONN : native.socketShutdown(this.fd); }

  open(fd) {
    native.setBlocking(fd, false);
    return this.take(fd);
  }

  // `this.fd` is a socket that is to be connected.
  connectTo(request, ...endpoint) {
    const result = native.socketConnect(this.fd, ...endpoint);
    if (result < 0 && ![ERRORS.EINPROGRESS, ERRORS.ECONNREFUSED, ERRORS.ENOENT, ERRORS.EAGAIN].includes(-result)) return result;
    host.causing(this, () => host.begin(request));
    const done = (status) => host.complete(request, status, this, request, true, true);
    if (result !== -ERRORS.EINPROGRESS) {
      this.later(() => done(result));
      return 0;
    }
    this.setWatch(POLL_OUT, () => {
      this.setWatch(0);
      done(native.socketError(this.fd));
    });
    return 0;
  }

  listen(backlog) {
    if (this.delayed) return this.delayed;
    const opened = this.fd < 0 ? this.openAnywhere() : 0;
    if (opened < 0) return opened;
    const result = native.socketListen(this.fd, backlog);
    if (result < 0) return result;
    this.setWatch(POLL_IN, () => this.#accept());
    return 0;
  }

  openAnywhere() { return -ERRORS.EINVAL; }

  #accept() {
    for (let i = 0; i < ACCEPT_MAX && this.fd >= 0; i++) {
      const fd = native.socketAccept(this.fd);
      if (fd === -ERRORS.EAGAIN) return;
      if (fd === -ERRORS.ECONNABORTED) continue;
      if (fd < 0) {
        loop.call(this.onconnection, this, fd);
        return;
      }
      const client = host.causing(this, () => new this.constructor(SOCKET));
      client.take(fd);
      loop.call(this.onconnection, this, 0, client);
    }
  }

  reset(callback) {
    if (this.fd >= 0) native.socketReset(this.fd);
    this.close(callback);
    return 0;
  }
}
host.SocketWrap = SocketWrap;

// ---- TCP ----

class TCP extends SocketWrap {
  constructor(type) { super(type, type === SERVER ? 'TCPSERVERWRAP' : 'TCPWRAP'); }

  #open(family) {
    if (this.fd >= 0) return 0;
    const fd = native.socketOpen(family, SOCK_STREAM);
    return fd < 0 ? fd : this.take(fd);
  }

  openAnywhere() { return this.bind('0.0.0.0', 0); }

  #bind(family, address, port, flags) {
    const opened = this.#open(family);
    if (opened < 0) return opened;
    native.socketSet(this.fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (flags & REUSEPORT) native.socketSet(this.fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (family === AF_INET6) native.socketSet(this.fd, IPPROTO_IPV6, IPV6_V6ONLY, flags & IPV6ONLY ? 1 : 0);
    const result = native.socketBind(this.fd, address, port);
    this.delayed = result === -ERRORS.EADDRINUSE ? result : 0; // as libuv: it is said by listen, connect or getsockname
    return this.delayed ? 0 : result;
  }
  bind(address, port, flags = 0) { return this.#bind(AF_INET, address, port, flags); }
  bind6(address, port, flags = 0) { return this.#bind(AF_INET6, address, port, flags); }

  #connect(family, request, address, port) {
    if (this.delayed) return this.delayed;
    const opened = this.#open(family);
    return opened < 0 ? opened : this.connectTo(request, address, port);
  }
  connect(request, address, port) { return this.#connect(AF_INET, request, address, port); }
  connect6(request, address, port) { return this.#connect(AF_INET6, request, address, port); }

  getsockname(into) { return this.delayed || putEndpoint(into, native.socketName(this.fd)); }
  getpeername(into) { return putEndpoint(into, native.socketPeer(this.fd)); }

  setNoDelay(on) { return native.socketSet(this.fd, IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0); }
  setKeepAlive(on, delay, interval, count) {
    const result = native.socketSet(this.fd, SOL_SOCKET, SO_KEEPALIVE, on ? 1 : 0);
    if (result < 0 || !on) return result;
    for (const [option, value] of [[TCP_KEEPIDLE, delay], [TCP_KEEPINTVL, interval], [TCP_KEEPCNT, count]])
      if (value) native.socketSet(this.fd, IPPROTO_TCP, option, value);
    return 0;
  }
  setTypeOfService(value) { return native.socketSet(this.fd, IPPROTO_IP, IP_TOS, value); }
  getTypeOfService() { return native.socketGet(this.fd, IPPROTO_IP, IP_TOS); }
  setSimultaneousAccepts() { return 0; }
}

return { TCP, TCPConnectWrap: host.requestClass('TCPCONNECTWRAP'), constants: { SOCKET, SERVER, UV_TCP_IPV6ONLY: IPV6ONLY, UV_TCP_REUSEPORT: REUSEPORT } };
