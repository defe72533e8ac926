'use strict';
// Addresses as numbers, and lists of rules over them.
const { SOCKETS } = native;
const { AF_INET, AF_INET6 } = SOCKETS;
const familyName = (family) => (family === AF_INET6 ? 'IPv6' : 'IPv4');

const numberOf = (bytes) => new Uint8Array(bytes).reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

class SocketAddress {
  constructor(address, port, family, flow = 0) {
    const bytes = native.addressBytes(address);
    if (bytes === undefined || (bytes.byteLength === 16) !== (family === AF_INET6)) throw host.nodeError('ERR_INVALID_ADDRESS');
    Object.assign(this, { address: native.addressText(bytes), port, family, flow, bytes: new Uint8Array(bytes), number: numberOf(bytes) });
  }
  detail(into) { return Object.assign(into, { address: this.address, port: this.port, family: this.family, flowlabel: this.flow }); }
  legacyDetail() { return { address: this.address, port: this.port, family: familyName(this.family) }; }
  flowlabel() { return this.flow; }
}

// ::ffff:a.b.c.d is a.b.c.d, too.
const MAPPED = 0xffffn << 32n;
const asV4 = ({ family, number }) => (family === AF_INET ? number : (number >> 32n) << 32n === MAPPED ? number - MAPPED : undefined);

const matches = (family, from, to) => (address) => {
  if (address.family === family) return from <= address.number && address.number <= to;
  const number = family === AF_INET ? asV4(address) : MAPPED + address.number;
  return number !== undefined && from <= number && number <= to;
};

class BlockList {
  constructor() { this.rules = []; }
  #add(text, match) { this.rules.unshift({ text, match }); }
  addAddress({ family, address, number }) { this.#add(`Address: ${familyName(family)} ${address}`, matches(family, number, number)); }
  addRange(from, to) {
    if (from.number > to.number) return false;
    this.#add(`Range: ${familyName(from.family)} ${from.address}-${to.address}`, matches(from.family, from.number, to.number));
    return undefined;
  }
  addSubnet({ family, address, number }, prefix) {
    const rest = BigInt((family === AF_INET6 ? 128 : 32) - prefix);
    const first = (number >> rest) << rest;
    this.#add(`Subnet: ${familyName(family)} ${address}/${prefix}`, matches(family, first, first + (1n << rest) - 1n));
  }
  check(address) { return this.rules.some(({ match }) => match(address)); }
  getRules() { return this.rules.map(({ text }) => text); }
}

return { BlockList, SocketAddress, AF_INET, AF_INET6 };
