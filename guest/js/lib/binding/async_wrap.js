'use strict';
const { noop } = host;
const PROMISE_HOOKS = [undefined, undefined, undefined, undefined];
const { constants } = host.tables.shapes.async_wrap;
const { kStackLength, kExecutionAsyncId, kTriggerAsyncId, kCheck, kDefaultTriggerAsyncId, kAsyncIdCounter } = constants.value;

const fields = new Uint32Array(9);
const ids = new Float64Array(4);
const stack = new Float64Array(64 * 2);
const resources = [];
fields[kCheck] = 1;
ids[kAsyncIdCounter] = 1;
ids[kDefaultTriggerAsyncId] = -1;

function clear() {
  fields[kStackLength] = 0;
  ids[kExecutionAsyncId] = ids[kTriggerAsyncId] = 0;
  resources.length = 0;
}
host.clearAsyncStack = clear;

// The deeper part of the stack, which lib/ leaves to C++.
const deep = [];
function push(asyncId, triggerId) {
  deep.push([ids[kExecutionAsyncId], ids[kTriggerAsyncId]]);
  fields[kStackLength]++;
  ids[kExecutionAsyncId] = asyncId;
  ids[kTriggerAsyncId] = triggerId;
}
function pop() {
  if (fields[kStackLength] === 0) return false;
  [ids[kExecutionAsyncId], ids[kTriggerAsyncId]] = deep.pop() ?? [0, 0];
  return --fields[kStackLength] > 0;
}

const names = ['NONE', 'DIRHANDLE', 'DNSCHANNEL', 'ELDHISTOGRAM', 'FILEHANDLE', 'FILEHANDLECLOSEREQ', 'BLOBREADER', 'FSEVENTWRAP',
  'FSREQCALLBACK', 'FSREQPROMISE', 'GETADDRINFOREQWRAP', 'GETNAMEINFOREQWRAP', 'HTTPINCOMINGMESSAGE', 'HTTPCLIENTREQUEST', 'JSSTREAM',
  'MESSAGEPORT', 'PIPECONNECTWRAP', 'PIPESERVERWRAP', 'PIPEWRAP', 'PROCESSWRAP', 'PROMISE', 'QUERYWRAP', 'SHUTDOWNWRAP', 'SIGNALWRAP',
  'STATWATCHER', 'STREAMPIPE', 'TCPCONNECTWRAP', 'TCPSERVERWRAP', 'TCPWRAP', 'TTYWRAP', 'UDPSENDWRAP', 'UDPWRAP', 'SIGINTWATCHDOG',
  'WORKER', 'WRITEWRAP', 'ZLIB', 'Timeout', 'Immediate', 'TickObject'];

return {
  setupHooks: noop,
  setCallbackTrampoline: noop,
  registerDestroyHook: noop,
  queueDestroyAsyncId: noop,
  executionAsyncResource: (index) => resources[index],
  clearAsyncIdStack: clear,
  pushAsyncContext: push,
  popAsyncContext: pop,
  setPromiseHooks: noop,
  getPromiseHooks: () => PROMISE_HOOKS,
  async_hook_fields: fields,
  async_id_fields: ids,
  async_ids_stack: stack,
  execution_async_resources: resources,
  constants: constants.value,
  Providers: Object.fromEntries(names.map((name, i) => [name, i])),
};
