/* session.h - the inside of cay_session: a resident process and the state of its use.
 *
 * States      those of its slot (slot.h): while it settles, the result is out and the checkpoint is being made.
 * Locks       `job`, `why` and the stop belong to kernel.mu. Everything else belongs to the thread that made the session
 *             RUNNING. */
#pragma once

#include "abi/linux/resident.h"
#include "engine/image_file.h"
#include "guest/talk.h"
#include "kernel/file/fd_snapshot.h"
#include "sandbox/sandbox.h"
#include "sandbox/session/callback.h"
#include "sandbox/session/park_place.h"
#include "sandbox/session/replay.h"
#include "sandbox/session/slot.h"

#include <stdatomic.h>

/* When the state after a request becomes what the session can be put back to. */
enum sb_saving {
  SB_SAVE_NOW,
  SB_SAVE_LATER, /* before the next request. Many sessions are asked once, and a long evaluation may have written much:
                     the restore of an image and the end of the session must not wait for a checkpoint that is never used */
  SB_SAVE_REPLAY, /* there is nothing to copy: the request can be made again */
};

enum { SB_SESSION_NAME_MAX = 128 };

struct cay_session {
  cay_sandbox *box;
  list in_box;
  uint32_t id;                        /* in its sandbox */
  bool handed;                        /* runs_mu: the embedder has its handle */
  char name[SB_SESSION_NAME_MAX + 1]; /* runs_mu */
  const struct sb_language *language;
  abi_resident *resident;
  eng_image *parked;         /* its memory, while the resident has none; a reference */
  sb_park_place *park_place; /* or else the difference of its memory from the standard image, */
  uint64_t park_at;          /* and where in it */
  eng_image *frozen; /* its memory as it is, if it was frozen and no request came since; a reference */
  bool no_undo;
  _Atomic uint64_t *fuel; /* the remaining fuel of the running evaluation; the sandbox's. NULL: not counted */
  bool greeted;           /* it knows its environment and has randomness of its own */
  bool fresh;             /* it began as an image: the environment is to be told as well */
  uint32_t served;        /* requests so far */
  bool unsaved;           /* it can be rolled back only to before the last request */
  sb_replay replay;       /* requests from the last checkpoint to the state it can be rolled back to */
  uint64_t grants_version;

  sb_slot slot;
  bool answered_new;     /* the last request changed the state, */
  enum sb_saving saving; /* which is saved like this */

  /* kernel.mu */
  k_job *job;          /* of the request that runs */
  enum k_job_stop why; /* it is being stopped */
  int64_t stop_ns;     /* since when */
  int64_t stop_cpu_ns; /* the clock of the thread that computes, then; 0: it was not running */
  bool forced;
  alarm_entry stop_alarm;
};

/* What a program believes of its process. */
typedef struct sb_believed {
  abi_signals signals;
  buf files; /* the descriptors (kernel/fd_snapshot.h); nothing when none are open */
} sb_believed;

#define SB_BELIEVED_INIT ((sb_believed){ .files = BUF_INIT(K_FD_SNAPSHOT_LEN_MAX) })

struct cay_image {
  eng_image *memory;
  sb_believed process;
};

/* The files of the image are those of the session's process, which is at rest, from now on. Before and after
 * its memory becomes that of the image: only the first can fail, and changes nothing. */
typedef struct sb_files {
  k_fd_snapshot kept;
  k_file **open;
} sb_files;
cay_status sb_files_open(cay_session *session, const cay_image *image, sb_files *out, cay_error *err) CHECKED;
void sb_files_put(cay_session *session, const cay_image *image, sb_files *files); /* and signals */
void sb_files_drop(cay_session *session, sb_files *files);                        /* instead */

/* The other way: a process at rest. `out->files` is empty. */
cay_status sb_believed_take(const abi_resident *r, sb_believed *out, cay_error *err) CHECKED;

/* As bytes, and back: any bytes, or CAY_CORRUPT, CAY_UNSUPPORTED. `files` is the caller's, also on failure. */
cay_status sb_believed_write(const sb_believed *process, eng_image_sink *sink, void *ctx,
                             cay_error *err) CHECKED;
cay_status sb_believed_read(sb_believed *process, eng_image_source *source, void *ctx,
                            cay_error *err) CHECKED;

/* One request to the interpreter, on a thread of the engine. */
typedef struct sb_request {
  sb_slot_request base;
  cay_session *session;
  enum talk_op op;
  buf fields;
  cay_slice input;
  uint32_t wall_ms;
  uint64_t fuel; /* 0: not counted */
  uint64_t fuel_used;
  const bool *cancelled;   /* as of cay_eval_options */
  uint64_t grants_version; /* of TALK_EXECUTE: that the session knew before */
  k_output_fn *output;
  void *output_ctx;
  k_event_fn *event;
  void *event_ctx;
  k_piece_fn *display;
  void *display_ctx;
  k_piece_fn *piece; /* NULL: no pieces are wanted */
  void *piece_ctx;
  /* Looks at the reply while it is there; on the session's thread. */
  cay_status (*on_reply)(void *ctx, const talk_reply *reply, cay_error *err);
  void *ctx;

  /* what became of it */
  bool returned;
  bool
      skipped; /* it was stopped before it began: cancelled, or the processor time of the sandbox is used up */
  bool undone;
  enum k_job_stop stop;
  abi_gone gone;
  int64_t start_ns, end_ns;
  cay_status status;
  cay_error err;
  /* NULL: a caller waits in sb_session_ask. Else called on the session's thread once it is done; it owns the request
   * from then on, and must not ask the session for anything. */
  void (*on_done)(struct sb_request *request);
} sb_request;

/* As sb_slot_take; a session that was parked has its memory again. */
cay_status sb_session_take(cay_session *session, bool no_wait, cay_error *err) CHECKED;
/* As sb_slot_try. */
cay_status sb_session_try(cay_session *session, cay_error *err) CHECKED;
void sb_session_give(cay_session *session);

/* As sb_slot_hold: a session that is parked stays so. */
cay_status sb_session_hold(cay_session *session, int64_t deadline_ns, bool *taken, cay_error *err) CHECKED;

/* Its memory as an image, a reference; of a session that was taken or is held. Errors as eng_image_freeze. */
cay_status sb_session_freeze(cay_session *session, eng_image **out, cay_error *err) CHECKED;

/* Gives its memory back until the next request (session_park.c); it is held. Only the difference from its standard
 * image is kept: in `place`, or (NULL) in the memory of the process. A second time it has no effect, but that a session
 * parked in memory goes to the place. On failure it is as before. */
cay_status sb_session_park(cay_session *session, sb_park_place *place, cay_error *err) CHECKED;
static inline bool sb_session_is_parked(const cay_session *s) {
  return s->parked != NULL || s->park_place != NULL;
}

/* Keeps it from being freed: cay_session_free waits until it is left. */
void sb_session_enter(cay_session *session);
void sb_session_leave(cay_session *session);

/* A session in a snapshot. */
typedef struct sb_session_copy {
  uint32_t id;
  char name[SB_SESSION_NAME_MAX + 1];
  const struct sb_language *language;
  eng_image *memory;
  sb_believed process;
  char *cwd;
  sb_env env;
  bool no_undo, counts_fuel;
  bool fresh; /* it never ran: the environment is not in its memory yet */
  bool has_rlimits;
  k_rlimit rlimits[K_RLIMIT_COUNT];
} sb_session_copy;

/* Of a session that is held. */
cay_status sb_session_copy_take(cay_session *session, sb_session_copy *out, cay_error *err) CHECKED;
void sb_session_copy_clear(sb_session_copy *copy);
cay_status sb_session_copy_share(const sb_session_copy *from, sb_session_copy *to, cay_error *err) CHECKED;
/* A session of `box` that is such, parked, whose handle is not given out. The path of its directory may be gone: then it
 * is in the home folder, or in /. CAY_LIMIT, CAY_NO_MEMORY, CAY_NOT_FOUND: its program is not among the guests. */
cay_status sb_session_copy_restore(cay_sandbox *box, const sb_session_copy *copy, cay_error *err) CHECKED;

/* Runs the request in a session that was taken, and gives that back by and by. The status is the host's;
 * whether the interpreter answered is in `returned`. */
cay_status sb_session_ask(sb_request *request, cay_error *err) CHECKED;

/* The same without waiting, for a request with `on_done`, which is not called on failure. */
cay_status sb_session_send(sb_request *request, cay_error *err) CHECKED;

/* All of the sandbox's; before its kernel is stopped. */
void sb_sessions_free(cay_sandbox *box);
