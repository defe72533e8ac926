'use strict';
const { loop } = host;
class Signal extends host.HandleWrap {
  constructor() {
    super('SIGNALWRAP');
    this.item = { ready: (number) => loop.call(this.onsignal, this, number), ref: true };
  }
  start(number) {
    this.number = number;
    return Math.min(0, loop.signal(number, this.item));
  }
  stop() {
    if (this.number !== undefined) loop.forgetSignal(this.number, this.item);
    return 0;
  }
  close(callback) {
    host.closing(this);
    this.stop();
    loop.later(() => {
      if (callback) loop.call(callback, this);
      host.closed(this);
    });
  }
  ref() { this.item.ref = true; }
  unref() { this.item.ref = false; }
  hasRef() { return this.item.ref; }
}
return { Signal };
