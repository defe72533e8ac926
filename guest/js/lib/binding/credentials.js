'use strict';
const { getuid, geteuid, getgid, getegid } = native;
const refuse = () => { throw host.systemError(-native.ERRORS.EPERM, 'setuid'); };
return {
  safeGetenv: native.getenv,
  getTempDir() {
    const found = ['TMPDIR', 'TMP', 'TEMP'].map((name) => native.getenv(name)).find(Boolean) ?? '/tmp';
    return found.length > 1 && found.endsWith('/') ? found.slice(0, -1) : found;
  },
  implementsPosixCredentials: true,
  getuid, geteuid, getgid, getegid,
  getgroups: () => [getgid()],
  initgroups: refuse, setegid: refuse, seteuid: refuse, setgid: refuse, setuid: refuse, setgroups: refuse,
};
