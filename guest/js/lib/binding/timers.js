'use strict';
const { loop } = host;
return {
  setupTimers(immediate, timers) {
    loop.processImmediate = immediate;
    loop.processTimers = timers;
  },
  getLibuvNow() {
    if (host.session) loop.refresh(); // between two cells no round has looked at the clock
    return loop.now();
  },
  immediateInfo: loop.immediateInfo,
  timerInfo: loop.timeoutInfo,
  timeoutInfo: loop.timeoutInfo,
  scheduleTimer: loop.schedule,
  toggleTimerRef: loop.referenceTimer,
  toggleImmediateRef: host.noop,
};
