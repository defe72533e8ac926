'use strict';
const { noop } = host;
const heap = new Float64Array(14);
const shape = host.tables.shapes.v8;
const at = (name) => shape[name]?.value ?? 0;

function updateHeapStatisticsBuffer() {
  const bytes = native.residentMemory();
  heap.fill(0);
  for (const name of ['kTotalHeapSizeIndex', 'kTotalPhysicalSizeIndex', 'kUsedHeapSizeIndex', 'kMallocedMemoryIndex', 'kPeakMallocedMemoryIndex']) heap[at(name)] = bytes;
  heap[at('kHeapSizeLimitIndex')] = 2 ** 32;
  heap[at('kTotalAvailableSize')] = 2 ** 32 - bytes;
  heap[at('kNumberOfNativeContextsIndex')] = 1;
}

return { heapStatisticsBuffer: heap, heapCodeStatisticsBuffer: new Float64Array(4), heapSpaceStatisticsBuffer: new Float64Array(5),
  kHeapSpaces: [], setFlagsFromString: noop, setHeapSnapshotNearHeapLimit: noop, cachedDataVersionTag: () => 0,
  updateHeapStatisticsBuffer, updateHeapCodeStatisticsBuffer: noop, updateHeapSpaceStatisticsBuffer: noop,
  isStringOneByteRepresentation: (text) => !/[^\0-\xff]/.test(text), startupSnapshot: {} };
