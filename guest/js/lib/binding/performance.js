'use strict';
const { noop, loop } = host;
const milestones = new Float64Array(8);
const constants = { ...host.tables.shapes.performance.constants.value, NODE_PERFORMANCE_ENTRY_TYPE_GC: 0,
  NODE_PERFORMANCE_ENTRY_TYPE_HTTP: 1, NODE_PERFORMANCE_ENTRY_TYPE_HTTP2: 2, NODE_PERFORMANCE_ENTRY_TYPE_NET: 3,
  NODE_PERFORMANCE_ENTRY_TYPE_DNS: 4, NODE_PERFORMANCE_MILESTONE_TIME_ORIGIN_TIMESTAMP: 0, NODE_PERFORMANCE_MILESTONE_TIME_ORIGIN: 1,
  NODE_PERFORMANCE_MILESTONE_ENVIRONMENT: 2, NODE_PERFORMANCE_MILESTONE_NODE_START: 3, NODE_PERFORMANCE_MILESTONE_V8_START: 4,
  NODE_PERFORMANCE_MILESTONE_LOOP_START: 5, NODE_PERFORMANCE_MILESTONE_LOOP_EXIT: 6, NODE_PERFORMANCE_MILESTONE_BOOTSTRAP_COMPLETE: 7 };
host.beginMilestones = () => {
  milestones.fill(loop.origin * 1e6);
  milestones[0] = native.wallClock() * 1e3;
};
host.beginMilestones();
return {
  now: () => native.now() - loop.origin,
  milestones,
  observerCounts: new Uint32Array(8),
  constants,
  setupObservers: noop, installGarbageCollectionTracking: noop, removeGarbageCollectionTracking: noop, notify: noop,
  loopIdleTime: () => 0,
  markBootstrapComplete: noop,
  uvMetricsInfo: () => [0, 0, 0],
};
