'use strict';
// lib/ can be told that its state is going to be kept: then it notes what a program that begins as that state must undo and do again.
const { noop } = host;
const isBuildingSnapshotBuffer = Uint8Array.of(host.isImage ? 1 : 0);
let serialize = noop;

host.endBuilding = () => { isBuildingSnapshotBuffer[0] = 0; };
host.undoBuilding = () => {
  isBuildingSnapshotBuffer[0] = 1;
  serialize();
  isBuildingSnapshotBuffer[0] = 0;
};

return { isBuildingSnapshotBuffer, setSerializeCallback(f) { serialize = f; }, setDeserializeCallback: noop,
  setDeserializeMainFunction: noop, runEmbedderPreload: noop, compileSerializeMain: noop, anonymousMainPath: '__node_anonymous_main' };
