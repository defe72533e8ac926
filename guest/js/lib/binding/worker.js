'use strict';
class Worker {
  constructor() {
    throw Object.assign(new Error('Worker is not supported in a sandbox: a program has one thread. child_process.fork and cluster start processes instead'),
                        { code: 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM' });
  }
}

return { Worker, isMainThread: true, isInternalThread: false, ownsProcessState: true, threadId: 0, threadName: 'main',
  resourceLimits: new Float64Array(4), getEnvMessagePort: host.noop };
