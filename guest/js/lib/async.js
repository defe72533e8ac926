// async.js - what async_hooks follows: each handle and request has a number, functions that they call run in its scope, and hooks hear of it.
'use strict';

const { privateSymbols } = host;
const { constants } = host.tables.shapes.async_wrap;
const { kInit, kBefore, kAfter, kDestroy, kCheck, kStackLength, kUsesExecutionAsyncResource, kExecutionAsyncId, kTriggerAsyncId,
  kDefaultTriggerAsyncId, kAsyncIdCounter } = constants.value;
const { cay_async_id: ID, cay_async_trigger: TRIGGER, cay_async_type: TYPE, cay_async_frame: FRAME } = privateSymbols;
const STACK_DEPTH = 64; // at first

const fields = new Uint32Array(9);
const ids = new Float64Array(4);
const running = []; // resources, as deep as the stack
const shared = host.async = { constants: constants.value, fields, ids, stack: new Float64Array(2 * STACK_DEPTH), resources: [], running };
fields[kCheck] = 1;
ids[kAsyncIdCounter] = 1;
ids[kDefaultTriggerAsyncId] = -1;

let hooks; // Node's: init, before, after, destroy
let trampoline;
shared.setHooks = (given) => { hooks = given; };
shared.setTrampoline = (f) => { trampoline = f; };

// ---- the stack ----

function grow(depth) {
  const larger = new Float64Array(4 * depth);
  larger.set(shared.stack);
  shared.stack = larger;
  shared.onStack?.(larger);
}

shared.push = (id, trigger, resource) => {
  const at = fields[kStackLength];
  if (2 * at >= shared.stack.length) grow(at);
  shared.stack[2 * at] = ids[kExecutionAsyncId];
  shared.stack[2 * at + 1] = ids[kTriggerAsyncId];
  fields[kStackLength] = at + 1;
  ids[kExecutionAsyncId] = id;
  ids[kTriggerAsyncId] = trigger;
  if (resource !== undefined) running[at] = resource;
};

shared.pop = () => {
  if (fields[kStackLength] === 0) return false; // an exception has cleared it meanwhile
  const at = --fields[kStackLength];
  ids[kExecutionAsyncId] = shared.stack[2 * at];
  ids[kTriggerAsyncId] = shared.stack[2 * at + 1];
  if (running.length > at) running.length = at;
  if (shared.resources.length > at) shared.resources.length = at;
  return at > 0;
};

shared.clear = () => {
  fields[kStackLength] = 0;
  ids[kExecutionAsyncId] = ids[kTriggerAsyncId] = 0;
  running.length = shared.resources.length = 0;
};

// ---- resources ----

const trigger = () => (ids[kDefaultTriggerAsyncId] < 0 ? ids[kExecutionAsyncId] : ids[kDefaultTriggerAsyncId]);

// A resource begins. `seen`: what hooks are given in its place.
host.track = (resource, type, seen = resource) => {
  const id = resource[ID] = ++ids[kAsyncIdCounter];
  resource[TRIGGER] = trigger();
  resource[TYPE] = type;
  resource[FRAME] = native.getFrame(); // of AsyncLocalStorage
  if (fields[kInit] > 0) hooks.init(id, type, resource[TRIGGER], seen);
  return resource;
};

host.untrack = (resource) => {
  if (fields[kDestroy] > 0 && resource[ID] > 0) shared.queueDestroy(resource[ID]);
  resource[ID] = -1;
  resource[FRAME] = undefined;
};

// The resource causes what `f` makes.
host.causing = (resource, f) => {
  const before = ids[kDefaultTriggerAsyncId];
  ids[kDefaultTriggerAsyncId] = resource[ID] ?? -1;
  try {
    return f();
  } finally {
    ids[kDefaultTriggerAsyncId] = before;
  }
};

// Calls a resource's function in its scope. An exception leaves the scope open: the uncaught exception belongs to it and clears it.
host.within = (f, resource, args) => {
  const id = resource?.[ID];
  if (id === undefined) return Reflect.apply(f, resource, args);
  shared.push(id, resource[TRIGGER], resource);
  native.setFrame(resource[FRAME]);
  const isWatched = trampoline && fields[kBefore] + fields[kAfter] + fields[kUsesExecutionAsyncResource] > 0;
  const result = isWatched ? trampoline.call(resource, id, resource, f, ...args) : Reflect.apply(f, resource, args);
  shared.pop();
  return result;
};

// The same inside of another call: exceptions go on to that one.
host.inside = (f, resource, args) => {
  const frame = native.getFrame(), depth = fields[kStackLength];
  try {
    return host.within(f, resource, args);
  } finally {
    native.setFrame(frame);
    while (fields[kStackLength] > depth) shared.pop();
  }
};

// ---- ends ----

const ended = [];
shared.queueDestroy = (id) => {
  if (ended.push(id) === 1) host.loop.quietly(destroyAll);
};
function destroyAll() {
  while (ended.length > 0) for (const id of ended.splice(0)) hooks?.destroy(id);
}

let registry;
shared.watch = (resource, id, told) => {
  registry ??= new FinalizationRegistry((record) => { if (!record.told?.destroyed) shared.queueDestroy(record.id); });
  registry.register(resource, { id, told });
};

// ---- handles, and requests that are under way ----

const handles = new Set(), requests = new Set();

class AsyncWrap {
  constructor(type) { host.track(this, type); }
  getAsyncId() { return this[ID] ?? -1; }
  getProviderType() { return shared.providers.indexOf(this[TYPE]); }
  asyncReset(seen) {
    host.untrack(this);
    host.track(this, this[TYPE], seen);
  }
}

// What holds the loop as long as it is neither closed nor unreferenced.
class HandleWrap extends AsyncWrap {
  constructor(type) {
    super(type);
    handles.add(this);
  }
}

host.AsyncWrap = AsyncWrap;
host.HandleWrap = HandleWrap;
host.closing = (handle) => handles.delete(handle); // it holds nothing any more
host.closed = (handle) => {
  handles.delete(handle);
  host.untrack(handle);
};
// Those of the image are none of the program's.
host.forgetHandles = () => {
  for (const handle of handles) handle[ID] = undefined;
  handles.clear();
};
host.activeHandles = () => [...handles].filter((handle) => handle.hasRef());
host.activeRequests = () => [...requests];
host.typeOf = (resource) => resource[TYPE];

// A request is under way; its answer comes by `complete`. Classes of requests say their type; others are of `type`.
host.begin = (request, type = request.constructor.type) => {
  if (request[ID] === undefined) host.track(request, type);
  requests.add(request);
  return request;
};
host.complete = (request, ...args) => {
  requests.delete(request);
  if (typeof request.oncomplete === 'function') host.loop.call(request.oncomplete, request, ...args);
  if (request[ID] !== undefined) host.untrack(request);
};
host.requestClass = (type) => class { static type = type; };

shared.providers = ['NONE', 'DIRHANDLE', 'DNSCHANNEL', 'ELDHISTOGRAM', 'FILEHANDLE', 'FILEHANDLECLOSEREQ', 'BLOBREADER', 'FSEVENTWRAP',
  'FSREQCALLBACK', 'FSREQPROMISE', 'GETADDRINFOREQWRAP', 'GETNAMEINFOREQWRAP', 'HTTPINCOMINGMESSAGE', 'HTTPCLIENTREQUEST', 'JSSTREAM',
  'MESSAGEPORT', 'PIPECONNECTWRAP', 'PIPESERVERWRAP', 'PIPEWRAP', 'PROCESSWRAP', 'PROMISE', 'QUERYWRAP', 'SHUTDOWNWRAP', 'SIGNALWRAP',
  'STATWATCHER', 'STREAMPIPE', 'TCPCONNECTWRAP', 'TCPSERVERWRAP', 'TCPWRAP', 'TTYWRAP', 'UDPSENDWRAP', 'UDPWRAP', 'SIGINTWATCHDOG',
  'WORKER', 'WRITEWRAP', 'ZLIB', 'TLSWRAP', 'RANDOMBYTESREQUEST', 'PBKDF2REQUEST', 'SCRYPTREQUEST', 'DERIVEBITSREQUEST', 'HASHREQUEST',
  'SIGNREQUEST', 'KEYGENREQUEST', 'Timeout', 'Immediate', 'TickObject'];
