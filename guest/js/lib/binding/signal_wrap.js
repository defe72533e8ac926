'use strict';
const { loop } = host;
class Signal {
  constructor() { this.item = { ready: (number) => this.onsignal(number), ref: true }; }
  start(number) {
    this.number = number;
    return Math.min(0, loop.signal(number, this.item));
  }
  stop() {
    if (this.number !== undefined) loop.forgetSignal(this.number, this.item);
    return 0;
  }
  close(callback) {
    this.stop();
    if (callback) loop.later(() => callback.call(this));
  }
  ref() { this.item.ref = true; }
  unref() { this.item.ref = false; }
  hasRef() { return this.item.ref; }
  getAsyncId() { return 0; }
}
return { Signal };
