/* job.h - one run that the embedder asked for: its first process, everything that came of it, and its
 * streams.
 *
 * A job counts its living processes. It has *ended* when its first process has (that is when the run gives
 * its result); descendants that live on stay in the job, and k_job_kill or the deadline ends them too.
 *
 * Streams     an input stream is a pipe whose writing end the embedder holds; an output stream hands each
 * write of the guest to a function of the embedder, in order, never two at once for one job, with kernel.mu
 * released; the writer sleeps meanwhile, so a slow embedder slows the guest and no buffer grows.
 *
 * Terminal    or all three streams are one terminal, which the first process leads a session on. Its screen
 * output is given out as of descriptor 1, by a thread of the embedder in k_job_show. When the first process
 * has ended the terminal is hung up: what lives on has none.
 *
 * Locks       all require kernel.mu unless said otherwise. */
#pragma once

#include "kernel/proc/process.h"
#include "kernel/tty/termios.h"

typedef struct k_tty k_tty;

/* fd is 1 or 2. Called without kernel.mu on the thread of the process that writes. */
typedef void k_output_fn(void *ctx, int fd, const void *data, size_t len);

enum k_job_stop { K_JOB_RUNNING, K_JOB_TIME, K_JOB_FUEL, K_JOB_CANCELLED };

/* What a resident process is told when its job is to end. With kernel.mu; must neither block nor release it. */
typedef void k_job_stop_fn(void *ctx, enum k_job_stop why);

/* An event that the resident process of the job reports, on its thread and without kernel.mu: -K_ENOSPC when
 * no more are wanted. The texts are borrowed and unchecked. */
enum { K_EVENT_TRACE = 1, K_EVENT_BYTES = 2, K_EVENT_DISPLAY = 3 };
typedef k_ret k_event_fn(void *ctx, uint32_t line, const void *event, size_t event_len, const void *context,
                         size_t context_len);

/* A piece of what the resident process gives to its embedder, likewise. -K_ENOMEM ends the process's call. */
typedef k_ret k_piece_fn(void *ctx, const void *data, size_t len);

/* Whether a program could be started; if not, whether the limit of memory or the host is why. */
enum k_job_start { K_START_OK, K_START_MEMORY, K_START_HOST };

struct k_job {
  k_kernel *kernel;
  uint32_t refs K_GUARDED;        /* the embedder's one, and one per process and stream */
  int32_t pid K_GUARDED;          /* of the first process */
  bool ended K_GUARDED;           /* the first process has */
  int32_t exit_status K_GUARDED;  /* of it, as wait(2) */
  enum k_job_stop stop K_GUARDED; /* why we ended it, if we did */
  k_waitq changed K_GUARDED;      /* woken when it has ended or a process left */
  uint32_t alive K_GUARDED;       /* processes that have not ended */
  alarm_entry deadline;
  bool has_deadline;   /* it was armed once */
  int64_t deadline_ns; /* K_FOREVER: not armed */
  k_output_fn *output;
  void *output_ctx;
  bool output_busy K_GUARDED; /* one delivery at a time */
  k_waitq output_free K_GUARDED;
  k_file *input K_GUARDED; /* the embedder's end of standard input, or NULL when closed */
  k_tty *tty K_GUARDED;    /* or NULL; `input` is then its master. A reference */
  bool shown K_GUARDED;    /* all that the terminal will ever show */
  enum k_job_start start;  /* of the first process */
  char *detail;            /* why the first process ended (trap text), for people; NULL: nothing to say */
  void *owner;             /* the embedder's */
  void (*on_over)(
      void *ctx); /* called once, when k_job_wait would return at once; may be NULL. It must neither block nor
                               * release kernel.mu */
  void *on_over_ctx;
  k_job_stop_fn *on_stop; /* of the resident process in it; NULL: it is ended as any other */
  void *on_stop_ctx;
  k_event_fn *on_event; /* may be NULL */
  void *on_event_ctx;
  k_piece_fn *on_piece; /* NULL: none are wanted */
  void *on_piece_ctx;
  k_piece_fn *on_display; /* takes whole MIME bundles; NULL: none are wanted */
  void *on_display_ctx;
};

/* While the processor time of the kernel is used up (k_limits.cpu_ms), the new job is stopped already: `stop` is
 * K_JOB_TIME, `detail` says why, and a process that enters it is ended before it runs. A resident one is not ended by
 * k_job_attach: its embedder looks at `stop`. */
k_ret k_job_new(k_kernel *k, k_output_fn *output, void *output_ctx, k_job **out) CHECKED K_LOCKED;
void k_job_explain(k_job *job, const char *why) K_LOCKED; /* sets `detail`, unless it is set already */
void k_job_unref(k_job *job) K_LOCKED; /* NULL is fine; the last one may release and retake kernel.mu */

/* Standard descriptors 0, 1, 2 of a process of this job. With `input_open` descriptor 0 reads what
 * k_job_write sends; else it is at end of file (/dev/null). */
k_ret k_job_stdio(k_job *job, k_process *p, bool input_open) CHECKED;

/* The same with a terminal of this size, which is made the terminal of the session that `p` leads. */
k_ret k_job_terminal(k_job *job, k_process *p, k_winsize size) CHECKED;

/* Gives what the terminal shows to the job's output until it is hung up and all was given. Sleeps, and
 * releases kernel.mu. The starter of a thread for it takes a reference, and sets `shown` if that fails. */
void k_job_show(k_job *job) K_LOCKED;
k_job *k_job_ref(k_job *job) K_LOCKED;

/* Tells the output function that each stream is at its end, by no bytes. May sleep. */
void k_job_end_output(k_job *job) K_LOCKED;

/* Discards later output; afterwards no delivery is running. May sleep. */
void k_job_mute(k_job *job);

/* -K_ENOTTY: it has no terminal. */
k_ret k_job_resize(k_job *job, k_winsize size) CHECKED K_LOCKED;

/* A resident process works for this job, with descriptors 0, 1 and 2 of it, until it is detached: the job has
 * then ended with this status, its output is discarded, and no delivery is running. k_job_detach
 * may sleep. -K_ENOMEM, -K_EBADF. */
k_ret k_job_attach(k_job *job, k_process *p) CHECKED;
void k_job_detach(k_process *p, int32_t status) K_LOCKED;

/* Ends every process of the job: SIGKILL in effect, `why` is kept if it is the first reason. */
void k_job_kill(k_job *job, enum k_job_stop why) K_LOCKED;

/* Arms or disarms the deadline (clock_mono_ns; K_FOREVER: none). Without kernel.mu. */
k_ret k_job_set_deadline(k_job *job, int64_t deadline_ns) CHECKED;

/* The embedder writes to standard input: sleeps while the pipe is full, until `deadline_ns`. The count, which
 * may be short when time ran out; -K_EPIPE without a reader. Without a process: no signal. */
k_ret k_job_write(k_job *job, const void *data, size_t len, int64_t deadline_ns) CHECKED K_LOCKED;
void k_job_close_input(
    k_job *job) K_LOCKED; /* a terminal goes on showing, but reads from it find the end of file */

/* Sleeps until the job has ended and its terminal shows nothing more: 0, or -K_ETIMEDOUT. */
k_ret k_job_wait(k_job *job, int64_t deadline_ns) CHECKED K_LOCKED;
