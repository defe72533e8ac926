'use strict';
const { getuid, geteuid, getgid, getegid } = native;
const refuse = () => { throw host.systemError(-native.ERRORS.EPERM, 'setuid'); };
return {
  safeGetenv: native.getenv,
  getTempDir: () => native.getenv('TMPDIR') ?? '/tmp',
  implementsPosixCredentials: true,
  getuid, geteuid, getgid, getegid,
  getgroups: () => [getgid()],
  initgroups: refuse, setegid: refuse, seteuid: refuse, setgid: refuse, setuid: refuse, setgroups: refuse,
};
