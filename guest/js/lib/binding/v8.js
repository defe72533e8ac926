'use strict';
const { noop } = host;
return { heapStatisticsBuffer: new Float64Array(14), heapCodeStatisticsBuffer: new Float64Array(4), heapSpaceStatisticsBuffer: new Float64Array(5),
  kHeapSpaces: [], setFlagsFromString: noop, setHeapSnapshotNearHeapLimit: noop, cachedDataVersionTag: () => 0,
  updateHeapStatisticsBuffer: noop, updateHeapCodeStatisticsBuffer: noop, updateHeapSpaceStatisticsBuffer: noop,
  isStringOneByteRepresentation: (text) => !/[^\0-\xff]/.test(text), startupSnapshot: {} };
