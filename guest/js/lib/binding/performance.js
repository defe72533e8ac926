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
// ---- histograms: exact, for few values are recorded here ----

const INT64_MAX = 9223372036854775807n;
class Histogram {
  constructor(lowest = 1n, highest = INT64_MAX) {
    host.handles.add(this);
    Object.assign(this, { lowest, highest }).reset();
  }
  reset() {
    this.values = new Map();
    this.total = this.tooLarge = 0;
    this.last = undefined;
  }
  record(value) {
    const number = Number(value);
    if (number > Number(this.highest)) {
      this.tooLarge++;
      return;
    }
    this.values.set(number, (this.values.get(number) ?? 0) + 1);
    this.total++;
  }
  recordDelta() {
    const now = native.now() * 1e6;
    if (this.last !== undefined) this.record(Math.max(1, Math.round(now - this.last)));
    this.last = now;
  }
  add(other) {
    for (const [value, count] of other.values) this.values.set(value, (this.values.get(value) ?? 0) + count);
    this.total += other.total;
    this.tooLarge += other.tooLarge;
  }
  #sorted() { return [...this.values].sort(([a], [b]) => a - b); }
  count() { return this.total; }
  exceeds() { return this.tooLarge; }
  min() { return this.total === 0 ? 9223372036854776000 : this.#sorted()[0][0]; }
  max() { return this.total === 0 ? 0 : this.#sorted().at(-1)[0]; }
  mean() { return this.#sorted().reduce((sum, [value, count]) => sum + value * count, 0) / this.total; }
  stddev() {
    const mean = this.mean();
    return Math.sqrt(this.#sorted().reduce((sum, [value, count]) => sum + count * (value - mean) ** 2, 0) / this.total);
  }
  percentile(percent) {
    const wanted = Math.max(1, Math.ceil(percent / 100 * this.total));
    let seen = 0;
    for (const [value, count] of this.#sorted()) if ((seen += count) >= wanted) return value;
    return 0;
  }
  percentiles(into) {
    if (this.total === 0) into.set(100, 0);
    for (let percent = 0, step = 50; this.total > 0; percent += step, step /= 2) {
      const value = this.percentile(percent);
      into.set(percent, value);
      if (value === this.max()) break;
    }
    if (this.total > 0) into.set(100, this.max());
  }
}
for (const name of ['count', 'exceeds', 'min', 'max', 'percentile'])
  Histogram.prototype[`${name}BigInt`] = function big(...args) {
    const value = this[name](...args);
    return value > Number.MAX_SAFE_INTEGER ? INT64_MAX : BigInt(value);
  };
Histogram.prototype.percentilesBigInt = function percentilesBigInt(into) {
  const plain = new Map();
  this.percentiles(plain);
  for (const [percent, value] of plain) into.set(percent, BigInt(value));
};

// How much later than it should a timer comes.
class DelayHistogram extends Histogram {
  constructor(resolution) {
    super();
    this.resolution = resolution;
  }
  start() {
    if (this.timer) return false;
    let due = native.now() + this.resolution;
    this.timer = host.require('timers').setInterval(() => {
      this.record(Math.max(1, Math.round((native.now() - due + this.resolution) * 1e6)));
      due = native.now() + this.resolution;
    }, this.resolution).unref();
    return true;
  }
  stop() {
    if (!this.timer) return false;
    host.require('timers').clearInterval(this.timer);
    this.timer = undefined;
    return true;
  }
}

return {
  Histogram,
  createELDHistogram: (resolution) => new DelayHistogram(resolution),
  now: () => native.now() - loop.origin,
  milestones,
  observerCounts: new Uint32Array(8),
  constants,
  setupObservers: noop, installGarbageCollectionTracking: noop, removeGarbageCollectionTracking: noop, notify: noop,
  loopIdleTime: () => 0,
  markBootstrapComplete: noop,
  uvMetricsInfo: () => [0, 0, 0],
};
