/* snapshot.h - a whole sandbox as a value: keep it, fork it, save it, compare it.
 *
 *   cay_snapshot *before;  cay_sandbox *copy;
 *   cay_snapshot_take(box, NULL, &before, &err);
 *   cay_run(box, &CAY_INIT(cay_run_options, .command = "rm -r work"), &r, &err);
 *   cay_snapshot_restore(before, NULL, &copy, &err);                   // a sandbox in which work is there
 *
 * A snapshot has the file tree with its metadata, the environment, the limits, and the sessions of
 * interpreters with their memory, variables, working directories and open files. It is immutable. Contents of
 * files and pages of memory are shared, copy-on-write, by the sandbox, its snapshots and the sandboxes made
 * from them; taking one costs what changed since the one before.
 *
 * /dev/shm and the limits that a session has set for itself (setrlimit) are in it, and its monotonic clock goes on.
 * Not inside: callbacks, packages' handles, mounts with all that lies below them, the network's rules and secrets, the
 * trace, running processes, terminals, sockets, locks of files, timers. /dev and /proc are made anew. So are
 * randomness and the bases of clocks: two sandboxes from one snapshot draw different random numbers.
 *
 * The rules of cay.h hold: errors, ownership, options, threads. */
#ifndef CAY_SNAPSHOT_H
#define CAY_SNAPSHOT_H

#include <cay/session.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cay_snapshot cay_snapshot;

/* ------------------------------------------------------- take and restore ---- */

/* What happens with processes that run and with sessions that evaluate. */
typedef enum cay_running {
  CAY_RUNNING_REFUSE,    /* CAY_BUSY; the message names the first of them                     */
  CAY_RUNNING_WAIT,      /* waits until they have ended, up to wait_ms; then CAY_BUSY          */
  CAY_RUNNING_LEAVE_OUT, /* they are not in the snapshot; files are as they have written them  */
} cay_running;

typedef struct cay_snapshot_options {
  size_t size;
  cay_running running;
  uint32_t wait_ms;  /* CAY_RUNNING_WAIT; 0: 30 s, UINT32_MAX: for ever */
  bool no_sessions;  /* files, environment and limits only */
  const char *label; /* for people: "before the tests"; up to 200 bytes of UTF-8; NULL: none */
} cay_snapshot_options;

/* The sandbox goes on. Nothing of it changes while its files are looked at: the snapshot is one moment.
 * CAY_BUSY. CAY_NO_MEMORY. CAY_INVALID: the label. Not from a callback of an evaluation that it would wait
 * for: CAY_BUSY. */
CAY_CHECK CAY_API cay_status cay_snapshot_take(cay_sandbox *box, const cay_snapshot_options *options,
                                               cay_snapshot **out, cay_error *err);

/* Snapshots are counted: _ref returns its argument, _free gives one reference up. They end before the engine;
 * the sandbox that they were taken of may end before them. */
CAY_API cay_snapshot *cay_snapshot_ref(cay_snapshot *snapshot);
CAY_API void cay_snapshot_free(cay_snapshot *snapshot);

/* A new sandbox that is as the snapshot. `options` as of cay_sandbox_new: limits that are 0 or not given are
 * those of the snapshot, `env` is put over its environment. Its sessions are there, at rest (cay_session_resume);
 * their memory is mapped when they are used.
 * CAY_INVALID: options.packages (those of the snapshot's sandbox are among its files). CAY_LIMIT: it has
 * more files, bytes or sessions than the limits allow. */
CAY_CHECK CAY_API cay_status cay_snapshot_restore(cay_snapshot *snapshot, const cay_sandbox_options *options,
                                                  cay_sandbox **out, cay_error *err);

/* Both in one: a sandbox that is as `box` now. Either options may be NULL. */
CAY_CHECK CAY_API cay_status cay_sandbox_fork(cay_sandbox *box, const cay_snapshot_options *how,
                                              const cay_sandbox_options *options, cay_sandbox **out,
                                              cay_error *err);

/* The number of a session in its sandbox, from 1 on; copies of the sandbox have it under the same number. */
CAY_API uint32_t cay_session_id(const cay_session *session);

/* A name for people and programs, up to 128 bytes of UTF-8, which its copies have, too; "" at first. [any time]
 * CAY_INVALID: longer, or no UTF-8. */
CAY_CHECK CAY_API cay_status cay_session_set_name(cay_session *session, const char *name, cay_error *err);

/* The handle of a session that came with the snapshot; the caller owns it, as one of cay_session_new. Callbacks
 * and grants are those of the new sandbox.
 * CAY_NOT_FOUND: no session has this number. CAY_EXISTS: its handle was given out already. */
CAY_CHECK CAY_API cay_status cay_session_resume(cay_sandbox *box, uint32_t id, cay_session **out,
                                                cay_error *err);

/* ------------------------------------------------------------------ info ---- */

typedef struct cay_snapshot_info {
  const char *label;     /* ""; the strings live as long as the snapshot */
  int64_t created_ns;    /* since 1970 */
  uint8_t id[32];        /* random, made with the snapshot, kept in its file; a parent for branches */
  uint8_t parent[32];    /* the snapshot that the sandbox was made from or last taken as; zeros: none */
  uint64_t files, bytes; /* that differ from what every sandbox starts with: inodes, and bytes of contents */
  size_t sessions;
  cay_limits limits;
} cay_snapshot_info;
CAY_API void cay_snapshot_info_get(const cay_snapshot *snapshot, cay_snapshot_info *out);

typedef struct cay_snapshot_session {
  uint32_t id;          /* for cay_session_resume */
  const char *name;     /* "" */
  const char *language; /* "python" */
  const char *cwd;
  uint64_t memory; /* bytes of linear memory */
  uint64_t own;    /* of which differ from the standard image of the language, in whole pages */
} cay_snapshot_session;

/* The number of sessions; session `index` in *out (NULL: not wanted). */
CAY_API size_t cay_snapshot_sessions(const cay_snapshot *snapshot, size_t index, cay_snapshot_session *out);

/* "NAME=value", NULL ended; as long as the snapshot. */
CAY_API const char *const *cay_snapshot_env(const cay_snapshot *snapshot);

/* ----------------------------------------------------------------- files ---- */

/* A file of a snapshot, or one for a cay_snapshot_maker. Paths are absolute, without "." and "..". */
typedef struct cay_entry {
  const char *path;
  cay_kind kind; /* CAY_OTHER: a FIFO or a socket, by type */
  uint32_t mode; /* permission bits, set-id and sticky */
  uint32_t type; /* as S_IFMT of stat(2): 0100000 a file */
  uint32_t uid, gid;
  uint64_t len;  /* of a file's contents, holes included */
  uint64_t held; /* bytes of it that are in no hole, in whole blocks */
  int64_t mtime_ns;
  const char *target;  /* of a symlink; else NULL */
  const char *same_as; /* one more name of this file, which came before; then it has no contents of its own */
  bool removed; /* it is not there any more, though every sandbox starts with it; kind is its kind there */
} cay_entry;

/* Strings are borrowed until it returns. False stops. */
typedef bool cay_entry_fn(void *ctx, const cay_entry *entry);

typedef struct cay_walk_options {
  size_t size;
  const char *path; /* this and all below it; NULL: "/" */
  bool all;         /* also what every sandbox starts with; else only what differs from it */
} cay_walk_options;

/* A directory before its entries, these by name. A directory of which only entries differ comes too.
 * CAY_NOT_FOUND: options.path. */
CAY_CHECK CAY_API cay_status cay_snapshot_walk(const cay_snapshot *snapshot, const cay_walk_options *options,
                                               cay_entry_fn *each, void *ctx, cay_error *err);

/* Of the path itself: no symlink is followed, anywhere. CAY_NOT_FOUND. */
CAY_CHECK CAY_API cay_status cay_snapshot_stat(const cay_snapshot *snapshot, const char *path, cay_entry *out,
                                               cay_error *err); /* out->target as long as the snapshot */
/* Bytes of a file: the count in *out, 0 at the end. CAY_INVALID: not a file. */
CAY_CHECK CAY_API cay_status cay_snapshot_read(const cay_snapshot *snapshot, const char *path,
                                               uint64_t offset, void *buf, size_t cap, size_t *out,
                                               cay_error *err);
/* SHA-256 of a file's contents, as sha256sum(1) gives it. Remembered with the file: a second call, also on
 * another snapshot that shares the file, costs nothing. */
CAY_CHECK CAY_API cay_status cay_snapshot_digest(const cay_snapshot *snapshot, const char *path,
                                                 uint8_t out[32], cay_error *err);

/* ------------------------------------------------------------- save, load ---- */

/* Takes all of it; false stops the call, which answers CAY_CANCELLED. */
typedef bool cay_write_fn(void *ctx, cay_slice bytes);
/* Bytes read, 0 at the end; negative stops the call, which answers CAY_CANCELLED. */
typedef int64_t cay_read_fn(void *ctx, void *buf, size_t cap);

typedef enum cay_snapshot_format {
  CAY_SNAPSHOT_NATIVE, /* all of it; doc/reference/snapshot-format.md */
  CAY_SNAPSHOT_TAR,    /* a pax archive of the files that differ, names without the first '/' */
} cay_snapshot_format;

typedef struct cay_snapshot_save_options {
  size_t size;
  cay_snapshot_format format;
  bool no_files; /* what a store keeps beside files that it keeps by their digests (cay_snapshot_maker) */
  bool no_sessions;
  const char *path; /* CAY_SNAPSHOT_TAR: of this directory, names relative to it; NULL: "/" */
} cay_snapshot_save_options;

/* Never has machine code in it. Has what the sandbox had in its files, variables and environment: handle it as
 * you would handle those. CAY_IO. */
CAY_CHECK CAY_API cay_status cay_snapshot_save(const cay_snapshot *snapshot,
                                               const cay_snapshot_save_options *options, cay_write_fn *write,
                                               void *ctx, cay_error *err);
/* The same to a descriptor, from where it stands; not synced. */
CAY_CHECK CAY_API cay_status cay_snapshot_save_fd(const cay_snapshot *snapshot,
                                                  const cay_snapshot_save_options *options, int fd,
                                                  cay_error *err);

typedef struct cay_snapshot_load_options {
  size_t size;
  uint64_t bytes_max; /* of files' contents, and of each session's memory; 0: 4 GiB */
  uint32_t files_max; /* 0: 1,000,000 */
  bool no_sessions;   /* those of the file are skipped: then it loads with other guests too */
  const char *path;   /* a tar archive: where its names begin; NULL: "/home/agent" */
} cay_snapshot_load_options;

/* A file of either format, which its first bytes say; tar as GNU tar, bsdtar and pax write it, not compressed.
 * The bytes may be anyone's: they are checked before use, and the result can do what any guest can do.
 * CAY_CORRUPT: damaged, cut short, or not a snapshot; the message says where. CAY_LIMIT: more than the options
 * allow. CAY_UNSUPPORTED: of a newer version, or with sessions of a guest that is not the one here. */
CAY_CHECK CAY_API cay_status cay_snapshot_load(cay_engine *engine, const cay_snapshot_load_options *options,
                                               cay_read_fn *read, void *ctx, cay_snapshot **out,
                                               cay_error *err);
CAY_CHECK CAY_API cay_status cay_snapshot_load_fd(cay_engine *engine,
                                                  const cay_snapshot_load_options *options, int fd,
                                                  cay_snapshot **out, cay_error *err);

/* ----------------------------------------------------------------- maker ---- */

/* A snapshot file by file: from a store, an archive, a manifest. One thread at a time. */
typedef struct cay_snapshot_maker cay_snapshot_maker;

typedef struct cay_snapshot_maker_options {
  size_t size;
  const cay_snapshot *base; /* its beginning; NULL: what every sandbox starts with */
  uint64_t bytes_max;       /* of contents that are put; 0: 4 GiB */
  uint32_t files_max;       /* 0: 1,000,000 */
} cay_snapshot_maker_options;

CAY_CHECK CAY_API cay_status cay_snapshot_maker_new(cay_engine *engine,
                                                    const cay_snapshot_maker_options *options,
                                                    cay_snapshot_maker **out, cay_error *err);
/* Puts an entry at its path, in place of the one there; for a file the contents follow by _write, from its beginning;
 * `len` beyond the written bytes is a hole. Parents that are missing are made (1000:1000, 0755). A directory that is
 * there keeps its entries. `removed`: it and all below it goes; that it is not there is no error. No symlink is
 * followed.
 * CAY_INVALID: the path (relative, "..", a component longer than 255 bytes, below something that is no directory), a
 * type that is none; same_as is not there. CAY_LIMIT. */
CAY_CHECK CAY_API cay_status cay_snapshot_maker_put(cay_snapshot_maker *maker, const cay_entry *entry,
                                                    cay_error *err);
/* The next bytes of the file that was put last. CAY_INVALID: that was no file. CAY_LIMIT. */
CAY_CHECK CAY_API cay_status cay_snapshot_maker_write(cay_snapshot_maker *maker, cay_slice bytes,
                                                      cay_error *err);
/* A hole of so many bytes follows. */
CAY_CHECK CAY_API cay_status cay_snapshot_maker_skip(cay_snapshot_maker *maker, uint64_t len, cay_error *err);
CAY_CHECK CAY_API cay_status cay_snapshot_maker_setenv(cay_snapshot_maker *maker, const char *name,
                                                       const char *value, cay_error *err); /* NULL: removes */
CAY_CHECK CAY_API cay_status cay_snapshot_maker_limits(cay_snapshot_maker *maker, const cay_limits *limits,
                                                       cay_error *err);
/* Directories have the times that they were put with. The maker is gone, on failure too. `label` NULL: none. */
CAY_CHECK CAY_API cay_status cay_snapshot_maker_finish(cay_snapshot_maker *maker, const char *label,
                                                       cay_snapshot **out, cay_error *err);
CAY_API void cay_snapshot_maker_free(cay_snapshot_maker *maker); /* instead */

/* ------------------------------------------------------------------ diff ---- */

typedef enum cay_change_kind { CAY_ADDED, CAY_REMOVED, CAY_CHANGED } cay_change_kind;

typedef struct cay_change {
  cay_change_kind kind;
  const char *path;
  const cay_entry *before, *after; /* NULL where it is not */
  bool contents; /* they differ: bytes, target of a link, or the type; else only mode, owner or time do */
  bool
      host_changed; /* of a copy-on-write mount: the host has changed it, too, since the sandbox looked at it */
} cay_change;
typedef bool cay_change_fn(void *ctx, const cay_change *change); /* false stops */

typedef struct cay_diff_options {
  size_t size;
  const char *path; /* this and all below it; NULL: "/" */
  bool times;       /* a different modification time alone is a change, too */
} cay_diff_options;

/* From `before` (NULL: what every sandbox starts with) to `after`, in the order of cay_snapshot_walk. What both
 * share is skipped without looking, so it costs by what differs. */
CAY_CHECK CAY_API cay_status cay_snapshot_diff(const cay_snapshot *before, const cay_snapshot *after,
                                               const cay_diff_options *options, cay_change_fn *each,
                                               void *ctx, cay_error *err);
/* The same as a unified patch in git's form: modes, new, deleted and renamed-away files, links; names relative
 * to options.path behind a/ and b/. Contents with a NUL in the first 8,000 bytes are only named ("Binary files …
 * differ"). Empty: no change of contents or permission to execute. CAY_LIMIT: a file beyond 64 MiB. */
CAY_CHECK CAY_API cay_status cay_snapshot_patch(const cay_snapshot *before, const cay_snapshot *after,
                                                const cay_diff_options *options, cay_write_fn *write,
                                                void *ctx, cay_error *err);

/* ------------------------------------------------- copy-on-write mounts ---- */

/* A directory of the host that was mounted with cay_mount_options.copy_on_write appears writable. What the guest
 * changes stays in the sandbox, under its limits of disk and files, until it is unmounted or the sandbox is freed. The
 * names that were looked at count as memory. Names and modes are those of the first look into their directory, bytes
 * those of the moment when a file is opened. `path` names the mount.
 * CAY_NOT_FOUND: no copy-on-write mount is there. Processes may run: the changes are those of one moment. */

/* What differs from the host, by path: relative to the mount, a directory before its entries. A renamed file is
 * removed and added. Times alone are no change. */
CAY_CHECK CAY_API cay_status cay_mount_changes(cay_sandbox *box, const char *path, cay_change_fn *each,
                                               void *ctx, cay_error *err);
/* The same as cay_snapshot_patch writes it. CAY_EXISTS: the host has changed one of the files since. */
CAY_CHECK CAY_API cay_status cay_mount_patch(cay_sandbox *box, const char *path, cay_write_fn *write,
                                             void *ctx, cay_error *err);

typedef struct cay_apply_options {
  size_t size;
  bool (*agree)(void *ctx, const cay_change *change); /* false leaves it out; NULL: all of them */
  void *ctx;
} cay_apply_options;

/* Makes the changes on the host. The call is the embedder's agreement; applied changes are no changes any more. Each
 * file is replaced atomically: written beside its place, synced, renamed. No path leads out of the directory: each
 * is opened beneath it, without symlinks (openat2). Set-id bits are never set. *applied: how many (NULL: not wanted).
 * CAY_EXISTS: a file is on the host not as the sandbox saw it, which the message names; nothing was applied.
 * CAY_UNSUPPORTED: a FIFO or a socket was made; likewise. CAY_IO and others: the host failed in the middle; changes applied
 * until then stay, and the call can be repeated. */
CAY_CHECK CAY_API cay_status cay_mount_apply(cay_sandbox *box, const char *path,
                                             const cay_apply_options *options, size_t *applied,
                                             cay_error *err);

/* --------------------------------------------------------------- parking ---- */

/* The memory of the sandbox's sessions is given back, but for what differs from the image that they began as. The
 * next use of a session brings it back by itself. Processes that run are not touched; nor is a session that
 * evaluates. The limits still count the memory. CAY_NO_MEMORY, CAY_IO: a session was not parked. [any time] */
CAY_CHECK CAY_API cay_status cay_sandbox_park(cay_sandbox *box, cay_error *err);

/* The same, and what differs goes to a file that the call makes at `path`, for this user alone; sessions that are parked in
 * memory go there, too. No descriptor stays open. The file is removed when its last session is back, or freed. It is of
 * use to this process only (cay_snapshot_save makes files that others can load), and its end leaves it behind.
 * CAY_EXISTS: the path is there already. CAY_IO, CAY_NO_MEMORY: a session was not parked. A use of a session whose file was
 * removed or damaged is CAY_NOT_FOUND or CAY_CORRUPT, and the session stays parked. [any time] */
CAY_CHECK CAY_API cay_status cay_sandbox_park_to(cay_sandbox *box, const char *path, cay_error *err);

#ifdef __cplusplus
}
#endif
#endif /* CAY_SNAPSHOT_H */
