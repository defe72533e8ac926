'use strict';
const { noop } = host;

function plainText(value) {
  if (typeof value === 'symbol') return value.toString();
  if (typeof value === 'function') return String(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (native.classOf(value) === native.CLASS.ERROR) return Error.prototype.toString.call(value);
  return `#<${host.realmBinding('util').getConstructorName(value)}>`;
}

// The line that an error points to: from the first frame of a file that can be read.
function sourcePositions(error) {
  const [, file, line, column] = /^\s+at .*?\(?((?:\/|file:)[^()\n]*):(\d+):(\d+)\)?$/m.exec(error?.stack ?? '') ?? [];
  if (file === undefined) return { sourceLine: '', scriptResourceName: '', lineNumber: 0, startColumn: 0 };
  const path = file.startsWith('file:') ? host.require('internal/url').fileURLToPath(file) : file;
  const fd = native.open(path, 0, 0);
  const bytes = fd < 0 ? fd : native.readAll(fd);
  if (fd >= 0) native.close(fd);
  const sourceLine = typeof bytes === 'number' ? '' : native.decode(1, bytes).split('\n')[line - 1] ?? '';
  return { sourceLine, scriptResourceName: file, lineNumber: Number(line), startColumn: column - 1 };
}

return {
  setPrepareStackTraceCallback: host.setPrepareStackTrace,
  setGetSourceMapErrorSource: noop,
  setSourceMapsEnabled: noop,
  setMaybeCacheGeneratedSourceMap: noop,
  setEnhanceStackForFatalException(before, after) {
    host.enhance = (error) => {
      before(error);
      return after(error);
    };
  },
  noSideEffectsToString: (value) => {
    try {
      return plainText(value);
    } catch {
      return '<error>';
    }
  },
  triggerUncaughtException: (error, fromPromise) => host.fatal(error, fromPromise),
  getErrorSourcePositions: sourcePositions,
};
