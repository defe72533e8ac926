'use strict';
const { loop } = host;
return {
  setupTimers(immediate, timers) {
    loop.processImmediate = immediate;
    loop.processTimers = timers;
  },
  getLibuvNow() {
    loop.refresh();
    return loop.now();
  },
  immediateInfo: loop.immediateInfo,
  timerInfo: loop.timeoutInfo,
  timeoutInfo: loop.timeoutInfo,
  scheduleTimer: loop.schedule,
  toggleTimerRef: loop.referenceTimer,
  toggleImmediateRef: host.noop,
};
