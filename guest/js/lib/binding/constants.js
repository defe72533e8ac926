'use strict';
const { zlib, priority, internal, crypto } = host.tables;
const bare = (object) => Object.assign({ __proto__: null }, object);
const copying = { UV_FS_COPYFILE_EXCL: 1, COPYFILE_EXCL: 1, UV_FS_COPYFILE_FICLONE: 2, COPYFILE_FICLONE: 2,
  UV_FS_COPYFILE_FICLONE_FORCE: 4, COPYFILE_FICLONE_FORCE: 4 };
const kinds = { UV_FS_SYMLINK_DIR: 1, UV_FS_SYMLINK_JUNCTION: 2, UV_DIRENT_UNKNOWN: 0, UV_DIRENT_FILE: 1, UV_DIRENT_DIR: 2,
  UV_DIRENT_LINK: 3, UV_DIRENT_FIFO: 4, UV_DIRENT_SOCKET: 5, UV_DIRENT_CHAR: 6, UV_DIRENT_BLOCK: 7 };
return {
  os: bare({ UV_UDP_REUSEADDR: 4, dlopen: bare({ RTLD_LAZY: 1, RTLD_NOW: 2, RTLD_GLOBAL: 256, RTLD_LOCAL: 0, RTLD_DEEPBIND: 8 }),
    errno: bare(native.ERRORS), signals: bare(native.SIGNALS), priority: bare(priority) }),
  fs: bare({ ...kinds, ...native.FILES, UV_FS_O_FILEMAP: 0, ...copying }),
  crypto: bare(crypto),
  zlib: Object.freeze(bare({ ...zlib, Z_MAX_CHUNK: Infinity })),
  trace: bare({ TRACE_EVENT_PHASE_BEGIN: 66, TRACE_EVENT_PHASE_END: 69, TRACE_EVENT_PHASE_COMPLETE: 88, TRACE_EVENT_PHASE_INSTANT: 73,
    TRACE_EVENT_PHASE_ASYNC_BEGIN: 83, TRACE_EVENT_PHASE_ASYNC_END: 70, TRACE_EVENT_PHASE_NESTABLE_ASYNC_BEGIN: 98,
    TRACE_EVENT_PHASE_NESTABLE_ASYNC_END: 101, TRACE_EVENT_PHASE_COUNTER: 67, TRACE_EVENT_PHASE_NESTABLE_ASYNC_INSTANT: 110 }),
  internal: bare(internal),
};
