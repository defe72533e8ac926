'use strict';
const indexes = new Map(); // of names
const getOrCreateChannelIndex = (name) => {
  if (!indexes.has(name)) indexes.set(name, indexes.size);
  return indexes.get(name);
};
return { subscribers: new Uint32Array(4096), linkNativeChannel: host.noop, getOrCreateChannelIndex };
