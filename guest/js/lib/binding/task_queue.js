'use strict';
const { loop } = host;
return {
  tickInfo: loop.tickInfo,
  runMicrotasks: loop.jobs,
  setTickCallback(f) { loop.tick = f; },
  enqueueMicrotask(f) {
    Promise.resolve().then(() => {
      try {
        f();
      } catch (error) {
        host.fatal(error);
      }
    });
  },
  setPromiseRejectCallback(f) {
    loop.rejected = f;
    native.setRejectionCallback((event, promise, reason) => {
      if (!host.isQuiet?.(promise)) f(event, promise, reason);
    });
  },
  promiseRejectEvents: { kPromiseRejectWithNoHandler: 0, kPromiseHandlerAddedAfterReject: 1, kPromiseResolveAfterResolved: 2,
    kPromiseRejectAfterResolved: 3 },
};
