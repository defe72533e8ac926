// loop.js - the event loop: timers, events that are ready at once, descriptors, children, signals, immediates. In this order, as libuv has it.
'use strict';

const { process, privateSymbols } = host;
const POLL_IN = 1;
const POLL_MAX_MS = 0x7fffffff;

const ready = [];              // functions to be called on the next round
const quiet = [];              // likewise, but they do not keep the program alive
const soon = [];               // functions to be called at the end of this round, with those that they add
const polls = new Map();       // descriptor: {events, ready, ref}
const children = new Map();    // pid: function of (exit code, signal)
const signals = new Map();     // number: Set of {ready, ref}
const loop = host.loop = {
  tickInfo: new Uint8Array(2),
  immediateInfo: new Uint32Array(3), // how many there are, that are referenced, are left over
  timeoutInfo: new Int32Array(1),
  origin: native.now(),
};
let now = loop.origin;
let timerAt = 0;
let timerReferenced = true;

// ---- leaving and entering JavaScript ----

const { tickInfo, immediateInfo, timeoutInfo } = loop;

function jobs() {
  for (;;) {
    try {
      native.runMicrotasks();
      return;
    } catch (error) {
      host.fatal(error);
    }
  }
}

function leave() {
  if (!tickInfo[0] && !tickInfo[1]) jobs();
  if (tickInfo[0] || tickInfo[1]) loop.tick.call(process);
  host.releaseKept();
}

// Calls from outside: runs the function's pending jobs too; an exception it throws is uncaught.
function call(f, self, ...args) {
  const frame = native.getFrame();
  let result;
  try {
    result = host.within(f, self, args);
  } catch (error) {
    host.fatal(error); // which sees to the ticks, too
    native.setFrame(frame);
    return undefined;
  }
  try {
    leave();
  } catch (error) {
    host.fatal(error);
    settleTicks();
  }
  native.setFrame(frame);
  return result;
}

function settleTicks() {
  for (;;) {
    try {
      leave();
      return;
    } catch (error) {
      host.fatal(error);
    }
  }
}

// ---- uncaught exceptions ----

const exitInfo = process[privateSymbols.exit_info_private_symbol];
const writeError = (text) => {
  const bytes = new Uint8Array(native.encode(1, `${text}\n`));
  native.write(2, bytes, 0, bytes.length);
};

// The line of code; a stack may have it already.
const arrowOf = (error) => (error[privateSymbols.decorated_private_symbol] ? undefined : error[privateSymbols.arrow_message_private_symbol]);

function describe(error) {
  try {
    const arrow = typeof error === 'object' && error !== null ? arrowOf(error) : undefined;
    const text = host.enhance ? host.enhance(error) : undefined;
    const stack = text ?? (typeof error === 'object' && error !== null && 'stack' in error && error.stack
      ? error.stack : `Uncaught:\n${host.require('internal/util/inspect').inspect(error)}`);
    return `${typeof arrow === 'string' ? `${arrow}\n` : ''}${stack}`;
  } catch {
    return `Uncaught ${typeof error}`;
  }
}

host.fatal = (error, fromPromise = false) => {
  if (host.session && process.listenerCount('uncaughtException') === 0 && !process.hasUncaughtExceptionCaptureCallback()) {
    host.async.clear();
    throw new host.Uncaught(error);
  }
  if (typeof process._fatalException !== 'function') {
    writeError(describe(error));
    native.exit(6);
  }
  let handled = false;
  try {
    handled = process._fatalException(error, fromPromise);
  } catch (second) {
    writeError(second === error ? describe(error) : `${describe(second)}\n\nwhile handling:\n${describe(error)}`);
    native.exit(7);
  }
  if (handled) return;
  if (host.session) throw new host.Uncaught(error);
  writeError(`${describe(error)}\n\nNode.js ${process.version}`);
  native.exit(exitInfo[2] ? exitInfo[1] : 1);
};
host.describe = describe;
host.writeError = writeError;

// ---- what holds the loop ----

const isAlive = loop.isAlive = () =>
  ready.length > 0 || soon.length > 0 || children.size > 0 || immediateInfo[1] > 0 || (timerAt > 0 && timerReferenced && timeoutInfo[0] > 0) ||
  anyReferenced(polls.values()) || [...signals.values()].some((set) => anyReferenced(set));

function anyReferenced(items) {
  for (const item of items) if (item.ref) return true;
  return false;
}

// ---- one round ----

function runTimers() {
  now = native.now();
  if (!timerAt || now - loop.origin < timerAt) return;
  let next;
  do { // once more behind a timer that has thrown something; in a session that ends the round, and the others stay due
    timerAt = 1;
    timerReferenced = true;
    next = call(expire);
  } while (next === undefined);
}

// The time of the next one stands before ticks and promises run, which may set an earlier one.
function expire() {
  const next = loop.processTimers.call(process, loop.now());
  timerAt = Math.abs(next);
  timerReferenced = next > 0;
  return next;
}

function runReady() {
  for (const f of ready.splice(0)) call(f);
  for (const f of quiet.splice(0)) call(f);
}

// How long to wait; -1 for as long as it takes is written as POLL_MAX_MS. Without work there is no wait.
function patience() {
  if (ready.length + quiet.length + soon.length > 0 || immediateInfo[0] > 0 || !isAlive()) return 0;
  let ms = POLL_MAX_MS;
  if (timerAt) ms = Math.min(ms, Math.max(0, Math.ceil(timerAt - (native.now() - loop.origin))));
  return ms;
}

function wait() {
  const list = [];
  const watched = [...polls];
  for (const [fd, { events }] of watched) list.push(fd, events); // a negative one is never ready
  const ms = patience();
  if (list.length === 0 && ms === 0) return takeSignals();
  const came = native.poll(list, ms === POLL_MAX_MS ? -1 : ms);
  now = native.now();
  watched.forEach(([fd, item], i) => {
    if (came[i] && polls.get(fd) === item) call(item.ready, undefined, came[i]);
  });
  takeSignals();
}

function takeSignals() {
  const numbers = native.takeSignals();
  if (numbers === undefined) return;
  for (const number of numbers) {
    if (number === native.SIGNALS.SIGCHLD) reap();
    for (const item of [...signals.get(number) ?? []]) call(item.ready, undefined, number);
  }
}

function reap() {
  for (const [pid, done] of [...children]) {
    const status = native.wait(pid, false);
    if (!status) continue;
    children.delete(pid);
    if (typeof status === 'number') call(done, undefined, 0, 0);
    else call(done, undefined, status[1], status[2]);
  }
}

// One round. It does not wait when `isDone` answers that there is nothing to wait for any more.
loop.round = (isDone) => {
  runTimers();
  runReady();
  if (isDone?.()) return;
  wait();
  while (soon.length > 0) call(soon.shift());
  if (immediateInfo[0] > 0)
    do call(loop.processImmediate, process);
    while (immediateInfo[2] > 0); // one has thrown something, and others wait
};

loop.run = () => {
  do {
    while (isAlive()) loop.round();
    runReady();
    call(() => process.emit('beforeExit', process.exitCode ?? 0));
  } while (isAlive());
};

// ---- what bindings add ----

loop.call = call;
loop.leave = leave;
loop.jobs = jobs;
loop.now = () => Math.floor(now - loop.origin);
loop.refresh = () => { now = native.now(); };
loop.later = (f) => { ready.push(f); };
loop.soon = (f) => { soon.push(f); };
loop.quietly = (f) => { quiet.push(f); };
loop.schedule = (ms) => {
  timerAt = Math.max(1, loop.now() + ms);
  timerReferenced = true;
};
loop.referenceTimer = (referenced) => { timerReferenced = referenced; };
loop.watch = (fd, events, whenReady, ref = true) => {
  const item = { events: events ?? POLL_IN, ready: whenReady, ref };
  polls.set(fd, item);
  return item;
};
loop.forget = (fd, item) => { if (!item || polls.get(fd) === item) polls.delete(fd); };
loop.forgetItem = (item) => {
  for (const [fd, held] of polls) if (held === item) polls.delete(fd);
};
loop.child = (pid, done) => {
  if (children.size === 0) native.watchSignal(native.SIGNALS.SIGCHLD);
  children.set(pid, done);
  loop.later(reap); // it may have ended before anything watched for the signal
};
loop.forgetChild = (pid) => { children.delete(pid); };
loop.signal = (number, item) => {
  if (!signals.has(number)) signals.set(number, new Set());
  signals.get(number).add(item);
  return native.watchSignal(number);
};
loop.forgetSignal = (number, item) => {
  const items = signals.get(number);
  if (!items?.delete(item) || items.size > 0) return;
  signals.delete(number);
  if (number !== native.SIGNALS.SIGCHLD) native.forgetSignal(number);
};
loop.isWatching = (number) => signals.has(number);
loop.restart = () => { // in a process that came out of an image
  loop.origin = now = native.now();
};
