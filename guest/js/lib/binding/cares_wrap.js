'use strict';
// Names are asked for by the libc, which waits for the answer. The sandbox's name server knows addresses alone.
const { loop } = host;
const { SOCKETS } = native;
const UV_EAI = { EAI_ADDRFAMILY: -3000, EAI_AGAIN: -3001, EAI_BADFLAGS: -3002, EAI_FAIL: -3004, EAI_FAMILY: -3005, EAI_MEMORY: -3006,
  EAI_NONAME: -3008, EAI_OVERFLOW: -3009, EAI_SERVICE: -3010, EAI_SOCKTYPE: -3011 };
const IPV4_FIRST = 1, IPV6_FIRST = 2;
const OFF = 'The network is off in this sandbox, names cannot be resolved';

const familyOf = (family) => (family === 4 ? SOCKETS.AF_INET : family === 6 ? SOCKETS.AF_INET6 : SOCKETS.AF_UNSPEC);
const isV6 = (address) => address.includes(':');

function ordered(addresses, order) {
  const all = [...new Set(addresses)];
  if (order === IPV4_FIRST) return [...all.filter((x) => !isV6(x)), ...all.filter(isV6)];
  if (order === IPV6_FIRST) return [...all.filter(isV6), ...all.filter((x) => !isV6(x))];
  return all;
}

// The name of the error says only that there is no answer; the user wants to know why.
function explain(request) {
  const { callback, reject } = request;
  const say = (error) => {
    if (error && typeof error === 'object') error.message = `${error.message}: ${OFF}`;
    return error;
  };
  if (typeof callback === 'function') request.callback = function explained(error, ...rest) { return callback.call(this, say(error), ...rest); };
  if (typeof reject === 'function') request.reject = (error) => reject(say(error));
}

function getaddrinfo(request, name, family, flags, order) {
  host.begin(request);
  loop.later(() => {
    const found = native.findAddresses(name, familyOf(family), flags);
    if (typeof found !== 'string') {
      host.complete(request, null, ordered(found, order));
      return;
    }
    if (found === 'EAI_FAIL') explain(request);
    host.complete(request, UV_EAI[found] ?? UV_EAI.EAI_NONAME);
  });
  return 0;
}

function getnameinfo(request, address, port) {
  host.begin(request);
  loop.later(() => {
    const found = native.findName(address, port);
    if (typeof found === 'string') host.complete(request, UV_EAI[found] ?? UV_EAI.EAI_NONAME);
    else host.complete(request, null, ...found);
  });
  return 0;
}

// ---- questions to the name server ----

function answerWith(request, found, map) {
  if (typeof found !== 'string') {
    host.complete(request, null, map(found), found.map(() => 0));
    return;
  }
  if (found === 'EAI_FAIL') explain(request);
  host.complete(request, { EAI_AGAIN: 'ETIMEOUT', EAI_FAIL: 'ECONNREFUSED' }[found] ?? 'ENOTFOUND');
}

const question = (ask, map = (found) => found) => function query(request, name) {
  host.begin(request);
  loop.later(() => answerWith(request, ask(name), map));
  return 0;
};
const empty = () => function query(request) {
  host.begin(request);
  loop.later(() => host.complete(request, 'ENODATA'));
  return 0;
};

function reverse(address) {
  const found = native.findName(address, 0);
  return typeof found === 'string' ? found : [found[0]];
}

class ChannelWrap {
  constructor() { this.servers = [['127.0.0.53', 53]]; }
  getServers() { return this.servers; }
  setServers(list) {
    this.servers = list.map(([, address, port]) => [address, port]);
    return 0;
  }
  setLocalAddress() {}
  cancel() {}
}
Object.assign(ChannelWrap.prototype, {
  queryA: question((name) => native.findAddresses(name, SOCKETS.AF_INET, 0)),
  queryAaaa: question((name) => native.findAddresses(name, SOCKETS.AF_INET6, 0)),
  queryAny: question((name) => native.findAddresses(name, SOCKETS.AF_UNSPEC, 0),
                     (found) => found.map((address) => ({ type: isV6(address) ? 'AAAA' : 'A', address, ttl: 0 }))),
  getHostByAddr: question(reverse),
});
for (const type of ['Caa', 'Cname', 'Mx', 'Naptr', 'Ns', 'Ptr', 'Soa', 'Srv', 'Tlsa', 'Txt']) ChannelWrap.prototype[`query${type}`] = empty();

function canonicalizeIP(text) {
  const bytes = typeof text === 'string' && !text.includes('%') ? native.addressBytes(text) : undefined;
  return bytes && native.addressText(bytes);
}

return {
  getaddrinfo, getnameinfo, canonicalizeIP, ChannelWrap,
  convertIpv6StringToBuffer(text) {
    const bytes = native.addressBytes(text);
    return bytes?.byteLength === 16 ? host.toBuffer(bytes) : undefined;
  },
  strerror: (code) => String(code),
  GetAddrInfoReqWrap: host.requestClass('GETADDRINFOREQWRAP'), GetNameInfoReqWrap: host.requestClass('GETNAMEINFOREQWRAP'),
  QueryReqWrap: host.requestClass('QUERYWRAP'),
};
