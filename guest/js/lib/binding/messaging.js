'use strict';
// Ports of one thread: a message is cloned when it is posted and delivered by the loop.
const { loop, noop, perIsolateSymbols } = host;
const { oninit, no_message_symbol: NO_MESSAGE, handle_onclose: onClose } = perIsolateSymbols;

class MessagePort {
  constructor() { throw host.nodeError('ERR_CONSTRUCT_CALL_INVALID'); }
  postMessage(...given) {
    if (given.length === 0) throw new TypeError('Not enough arguments to MessagePort.postMessage');
    const [message, options] = given;
    const transfer = transferList(options);
    const state = states.get(this);
    if (state.group) {
      for (const port of state.group) if (port !== this) states.get(port).queue.push(host.clone(message)), deliver(port);
      return;
    }
    const copy = host.clone(message, transfer, this); // also without a reader
    const other = state.other && states.get(state.other);
    if (!other || other.closed || transfer.includes(state.other)) return;
    other.queue.push(copy);
    deliver(state.other);
  }
  start() {
    states.get(this).started = true;
    deliver(this);
  }
  close(callback) {
    const state = states.get(this);
    if (typeof callback === 'function') this.once?.('close', callback);
    state.group?.delete(this);
    for (const port of [this, state.other]) shut(port);
  }
  drain() { drain(this); }
  ref() { hold(this, true); }
  unref() { hold(this, false); }
  hasRef() { return states.get(this).hold !== undefined; }
}

const states = new WeakMap();

// An array, or an object with one as `transfer`.
function transferList(options) {
  if (options === undefined || options === null) return [];
  if (typeof options !== 'object') throw host.nodeError('ERR_INVALID_ARG_TYPE', 'options', 'Object', options);
  const list = Symbol.iterator in options ? options : options.transfer;
  if (list === undefined || list === null) return [];
  if (typeof list !== 'object' || !(Symbol.iterator in list)) throw new TypeError('Optional options.transfer argument must be an iterable');
  return [...list];
}

// A port that changes hands: another object stands for it from now on.
function movePort(port) {
  const state = states.get(port);
  const made = newPort();
  Object.assign(states.get(made), { queue: state.queue, other: state.other });
  if (state.other) states.get(state.other).other = made;
  Object.assign(state, { queue: [], other: undefined, closed: true });
  hold(port, false);
  return made;
}
host.isPort = (value) => states.has(value);
host.isOpenPort = (port) => !states.get(port).closed;
host.movePort = movePort;

function newPort() {
  const port = Object.create(MessagePort.prototype);
  states.set(port, { queue: [], started: false, closed: false, other: undefined, hold: undefined, waiting: false });
  port[oninit]?.();
  return port;
}

function drain(port) {
  const state = states.get(port);
  while (state.started && !state.closed && state.queue.length > 0) host.emitMessage.call(port, state.queue.shift(), [], 'message');
}

function deliver(port) {
  const state = states.get(port);
  if (!state.started || state.waiting || state.queue.length === 0) return;
  state.waiting = true;
  loop.later(() => {
    state.waiting = false;
    drain(port);
  });
}

// A port that somebody listens at keeps the loop alive: a descriptor that is never ready stands for it.
let holders = 0;
function hold(port, wanted) {
  const state = states.get(port);
  if (wanted === (state.hold !== undefined) || (wanted && state.closed)) return;
  if (wanted) state.hold = loop.watch(-2 - holders++, 0, noop);
  else {
    loop.forgetItem(state.hold);
    state.hold = undefined;
  }
}

function shut(port) {
  const state = port && states.get(port);
  if (!state || state.closed) return;
  loop.later(() => {
    drain(port);
    state.closed = true;
    hold(port, false);
    port[onClose]?.();
  });
}

class MessageChannel {
  constructor() {
    this.port1 = newPort();
    this.port2 = newPort();
    states.get(this.port1).other = this.port2;
    states.get(this.port2).other = this.port1;
  }
}

// Channels of one name hear each other.
const groups = new Map();
function broadcastChannel(name) {
  if (!groups.has(name)) groups.set(name, new Set());
  const port = newPort();
  const group = states.get(port).group = groups.get(name);
  group.add(port);
  return port;
}

host.MessagePort = MessagePort;

function exposeLazyDOMExceptionProperty(object) {
  Object.defineProperty(object, 'DOMException',
                        { __proto__: null, value: host.DOMException, writable: true, configurable: true, enumerable: false });
}

return {
  MessageChannel,
  MessagePort,
  broadcastChannel,
  JSTransferable: class {},
  exposeLazyDOMExceptionProperty,
  setDeserializerCreateObjectFunction: noop,
  stopMessagePort(port) { states.get(port).started = false; },
  checkMessagePort: (port) => states.has(port),
  drainMessagePort: drain,
  receiveMessageOnPort(port) {
    const state = states.get(port);
    if (!state) throw host.nodeError('ERR_INVALID_ARG_TYPE', 'port', 'MessagePort', port);
    return state.queue.length ? state.queue.shift() : NO_MESSAGE;
  },
  moveMessagePortToContext: (port) => port,
  structuredClone(value, options) {
    if (options !== undefined && options !== null && typeof options !== 'object') throw host.nodeError('ERR_INVALID_ARG_TYPE', 'options', 'Object', options);
    return host.clone(value, transferList(options?.transfer));
  },
  get DOMException() { return host.DOMException; },
};
