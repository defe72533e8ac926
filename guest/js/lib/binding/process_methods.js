'use strict';
const { loop, noop, systemError } = host;
const hrtimeBuffer = new Uint32Array(new ArrayBuffer(12));
const hrtimeBigInt = new BigInt64Array(hrtimeBuffer.buffer, 0, 1);

function cwd() {
  const path = native.getcwd();
  if (typeof path === 'number') throw systemError(path, 'uv_cwd');
  return path;
}

function chdir(path) {
  const result = native.chdir(path);
  if (result >= 0) return;
  const error = systemError(result, 'chdir', cwd(), path);
  throw error;
}

// What lib/ has made of a handle or request.
function ownerOf(resource) {
  const { owner_symbol: OWNER } = host.perIsolateSymbols;
  let owner = resource;
  while (owner[OWNER]) owner = owner[OWNER];
  return owner;
}

// As they are called there: no rule makes them of the names that hooks see.
const NAMES = { __proto__: null, FSREQCALLBACK: 'FSReqCallback', FSREQPROMISE: 'FSReqPromise', TCPWRAP: 'TCPSocketWrap', TCPSERVERWRAP: 'TCPServerWrap',
  PIPEWRAP: 'PipeWrap', PIPESERVERWRAP: 'PipeServerWrap', TTYWRAP: 'TTYWrap', PROCESSWRAP: 'ProcessWrap', SIGNALWRAP: 'SignalWrap', WRITEWRAP: 'WriteWrap',
  SHUTDOWNWRAP: 'ShutdownWrap', TCPCONNECTWRAP: 'TCPConnectWrap', PIPECONNECTWRAP: 'PipeConnectWrap', GETADDRINFOREQWRAP: 'GetAddrInfoReqWrap' };
const resourceName = (resource) => NAMES[host.typeOf(resource)] ?? host.typeOf(resource);

// A start without an image is of the same program.
function programPath() {
  const found = native.readlink('/proc/self/exe');
  const path = typeof found === 'number' ? '' : native.decode(1, found);
  return path === '' || path === host.coldProgram || native.modeOf(path) < 0 ? '/usr/bin/node' : path;
}

const times = (into) => { into.set(native.resourceUsage().slice(0, 2)); };

return {
  hrtimeBuffer,
  hrtime() {
    const ns = native.nanoseconds();
    const seconds = ns / 1000000000n;
    hrtimeBuffer[0] = Number(seconds >> 32n);
    hrtimeBuffer[1] = Number(seconds & 0xffffffffn);
    hrtimeBuffer[2] = Number(ns % 1000000000n);
  },
  hrtimeBigInt() { hrtimeBigInt[0] = native.nanoseconds(); },
  setEmitWarningSync: noop,
  reallyExit: (code) => (host.exit ?? native.exit)(code | 0),
  abort: native.abort,
  causeSegfault: native.abort,
  _kill: (pid, signal) => Math.min(0, native.kill(pid, signal)),
  _debugProcess: noop,
  _debugEnd: noop,
  cwd,
  chdir,
  umask(mask) {
    if (mask !== undefined) return native.umask(mask);
    const old = native.umask(0);
    native.umask(old);
    return old;
  },
  uptime: () => (native.now() - loop.origin) / 1e3,
  _rawDebug: host.writeError,
  memoryUsage(into) {
    const used = native.memoryUsage(), all = native.residentMemory();
    into.set([all, Math.max(all, used), used, 0, 0]);
  },
  rss: native.residentMemory,
  cpuUsage: times,
  threadCpuUsage: times,
  resourceUsage(into) { into.set(native.resourceUsage()); },
  constrainedMemory: () => 0,
  availableMemory: () => native.systemInfo()[2],
  _getActiveRequests: () => host.activeRequests().map(ownerOf),
  _getActiveHandles: () => host.activeHandles().map(ownerOf),
  getActiveResourcesInfo: () => [
    ...host.activeRequests().map(resourceName),
    ...host.activeHandles().map(resourceName),
    ...Array(host.loop.timeoutInfo[0]).fill('Timeout'),
    ...Array(host.loop.immediateInfo[1]).fill('Immediate'),
  ],
  dlopen() { throw host.nodeError('ERR_DLOPEN_DISABLED', 'Cannot load native addon: a sandbox runs no machine code'); },
  execve() { throw new Error('execve is not supported in a sandbox'); },
  loadEnvFile(path) {
    const fd = native.open(path, 0, 0);
    if (fd < 0) throw systemError(fd, 'open', path);
    const bytes = native.readAll(fd);
    native.close(fd);
    const found = host.realmBinding('util').parseEnv(native.decode(1, bytes));
    for (const [name, value] of Object.entries(found)) if (native.getenv(name) === undefined) native.setenv(name, value);
  },
  resetStdioForTesting: noop,
  patchProcessObject(process) {
    process.title = host.options['--title'] || 'node';
    process.argv = [host.argv0 ?? 'node', ...host.argv];
    process.execArgv = host.execArgv;
    process.versions = Object.freeze({ ...process.versions });
    process.pid = native.getpid();
    process.ppid = native.getppid();
    process.execPath = programPath();
    process.debugPort = 9229;
  },
};
