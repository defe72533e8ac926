'use strict';
const { async: shared } = host;
const { queueDestroy } = shared;
const onHookError = (error) => {
  if (host.session) host.loop.later(() => { throw error; });
  else host.fatal(error);
};

let given = [undefined, undefined, undefined, undefined];
const binding = {
  setupHooks: shared.setHooks,
  setCallbackTrampoline: shared.setTrampoline,
  registerDestroyHook: shared.watch,
  queueDestroyAsyncId: queueDestroy,
  executionAsyncResource: (index) => shared.running[index],
  clearAsyncIdStack: shared.clear,
  pushAsyncContext: shared.push,
  popAsyncContext: shared.pop,
  setPromiseHooks(...functions) {
    given = functions;
    native.setPromiseHooks(...functions, onHookError);
  },
  getPromiseHooks: () => given,
  async_hook_fields: shared.fields,
  async_id_fields: shared.ids,
  async_ids_stack: shared.stack,
  execution_async_resources: shared.resources,
  constants: shared.constants,
  Providers: Object.fromEntries(shared.providers.map((name, i) => [name, i])),
};
shared.onStack = (stack) => { binding.async_ids_stack = stack; };
return binding;
