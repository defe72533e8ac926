'use strict';
// Messages between processes with `serialization: 'advanced'`: four bytes of length, and the value as v8.serialize has it.
const v8 = () => host.require('v8');

function serialize(value) {
  const body = v8().serialize(value);
  const whole = host.require('buffer').Buffer.allocUnsafe(body.length + 4);
  whole.writeUInt32BE(body.length, 0);
  body.copy(whole, 4);
  return whole;
}

return { serialize, deserialize: (bytes) => v8().deserialize(bytes) };
