'use strict';
const info = (index) => () => native.systemInfo()[index];
return {
  getHostname: () => native.uname()[4],
  getOSInformation: () => native.uname().slice(0, 4),
  getHomeDirectory: () => native.getenv('HOME') ?? native.user()?.[1] ?? '/',
  getUptime: () => Number(native.nanoseconds()) / 1e9,
  getTotalMem: info(1),
  getFreeMem: info(2),
  getLoadAvg(into) { into.set(native.systemInfo().slice(3)); },
  getCPUs: () => ['wasm32', 0, 0, 0, 0, 0, 0],
  getInterfaceAddresses: () => ['lo', '127.0.0.1', '255.0.0.0', 'IPv4', '00:00:00:00:00:00', true, -1,
    'lo', '::1', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'IPv6', '00:00:00:00:00:00', true, 0],
  getPriority(pid, context) {
    const [error, priority] = native.getpriority(pid);
    if (error < 0) fill(context, error, 'uv_os_getpriority');
    return error < 0 ? undefined : priority;
  },
  setPriority(pid, priority, context) {
    const result = native.setpriority(pid, priority);
    if (result < 0) fill(context, result, 'uv_os_setpriority');
    return Math.min(0, result);
  },
  getUserInfo(options) {
    const encoding = options?.encoding;
    const as = (text) => (encoding === 'buffer' && text !== null ? host.toBuffer(native.encode(1, text)) : text);
    const [username, homedir, shell, uid, gid] = native.user() ?? ['agent', native.getenv('HOME') ?? '/', null, native.getuid(), native.getgid()];
    return { uid, gid, username: as(username), homedir: as(homedir), shell: as(shell) };
  },
  getAvailableParallelism: () => 1,
  isBigEndian: false,
};
function fill(context, errno, syscall) {
  const [code, message] = host.errorMap.get(errno) ?? ['UNKNOWN', 'unknown error'];
  Object.assign(context, { errno, code, message, syscall });
}
