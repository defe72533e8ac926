'use strict';
return { isMainThread: true, isInternalThread: false, ownsProcessState: true, threadId: 0, threadName: 'main',
  resourceLimits: new Float64Array(4), getEnvMessagePort: host.noop };
