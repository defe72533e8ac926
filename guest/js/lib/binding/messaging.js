'use strict';
// Ports of one thread: a message is cloned when it is posted and delivered by the loop.
const { loop, noop, perIsolateSymbols } = host;
const AT_ONCE = 1000;
const { oninit, no_message_symbol: NO_MESSAGE, handle_onclose: onClose } = perIsolateSymbols;

const invalid = (message, code) => Object.assign(new TypeError(message), { code });
function MessagePort() { throw invalid('Constructor cannot be called', 'ERR_CONSTRUCT_CALL_INVALID'); }

const methods = {
  postMessage(...given) {
    if (given.length === 0) throw new TypeError('Not enough arguments to MessagePort.postMessage');
    const [message, options] = given;
    const transfer = transferList(options);
    const state = states.get(this);
    if (state.group) {
      for (const port of state.group) if (port !== this) states.get(port).queue.push({ copy: host.clone(message), ports: [] }), deliver(port);
      return;
    }
    const ports = [], target = state.other;
    const copy = host.clone(message, transfer, this, ports); // also without a reader
    const other = state.other && states.get(state.other);
    if (target && transfer.includes(target)) {
      host.process.emitWarning('The target port was posted to itself, and the communication channel was lost');
      for (const port of [this, state.other]) shut(port);
      return;
    }
    if (!other || other.closed || state.closing) return;
    other.queue.push({ copy, ports });
    deliver(state.other);
  },
  start() {
    states.get(this).started = true;
    deliver(this);
  },
  close(callback) {
    const state = states.get(this);
    if (typeof callback === 'function') this.once?.('close', callback);
    state.group?.delete(this);
    state.closing = true;
    for (const port of [this, state.other]) shut(port);
  },
  ref() { hold(this, true); },
  unref() { hold(this, false); },
  hasRef() {
    const state = states.get(this);
    return state.closed ? undefined : state.hold !== undefined;
  },
};
for (const [name, value] of Object.entries(methods)) host.define(MessagePort.prototype, name, value);

const states = new WeakMap();

const notIterable = (name) => Object.assign(new TypeError(`Optional ${name} argument must be an iterable`), { code: 'ERR_INVALID_ARG_TYPE' });

function listOf(list, name) {
  const iterator = list?.[Symbol.iterator];
  if (typeof list !== 'object' || typeof iterator !== 'function') throw notIterable(name);
  const steps = Reflect.apply(iterator, list, []);
  if (typeof steps !== 'object' || steps === null || typeof steps.next !== 'function') throw notIterable(name);
  return [...{ [Symbol.iterator]: () => steps }];
}

// An array, or an object with one as `transfer`.
function transferList(options) {
  if (options === undefined || options === null) return [];
  if (typeof options !== 'object') throw notIterable('transferList');
  if (Symbol.iterator in options) return listOf(options, 'transferList');
  return options.transfer === undefined ? [] : listOf(options.transfer, 'options.transfer');
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
host.isOpenPort = (port) => !states.get(port).closed && !states.get(port).closing;
host.movePort = movePort;

function newPort() {
  const port = Object.create(MessagePort.prototype);
  states.set(port, { queue: [], started: false, closed: false, other: undefined, hold: undefined, waiting: false });
  host.track(port, 'MESSAGEPORT');
  port[oninit]?.();
  return port;
}

// At most so many at a time that timers come to their turn.
function drain(port) {
  const state = states.get(port);
  for (let left = Math.max(state.queue.length, AT_ONCE); left > 0 && state.started && !state.closed && state.queue.length > 0; left--) {
    const { copy, ports } = state.queue.shift();
    loop.call(host.emitMessage, port, copy, ports, 'message');
  }
  deliver(port);
}

function deliver(port) {
  const state = states.get(port);
  if (!state.started || state.closed || state.waiting || state.queue.length === 0) return;
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
    if (typeof port[onClose] === 'function') loop.call(port[onClose], port);
    host.untrack(port);
  });
}

function MessageChannel() {
  if (new.target === undefined) throw invalid('Class constructor MessageChannel cannot be invoked without `new`', 'ERR_CONSTRUCT_CALL_REQUIRED');
  this.port1 = newPort();
  this.port2 = newPort();
  states.get(this.port1).other = this.port2;
  states.get(this.port2).other = this.port1;
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
    if (!state) throw Object.assign(new TypeError('The "port" argument must be a MessagePort instance'), { code: 'ERR_INVALID_ARG_TYPE' });
    return state.queue.length ? state.queue.shift().copy : NO_MESSAGE;
  },
  moveMessagePortToContext(port) {
    if (!host.isOpenPort(port)) throw Object.assign(new Error('Cannot send data on closed MessagePort'), { code: 'ERR_CLOSED_MESSAGE_PORT' });
    return port;
  },
  structuredClone(value, options) {
    if (options !== undefined && options !== null && typeof options !== 'object') throw host.nodeError('ERR_INVALID_ARG_TYPE', 'options', 'Object', options);
    return host.clone(value, transferList(options?.transfer));
  },
  get DOMException() { return host.DOMException; },
};
