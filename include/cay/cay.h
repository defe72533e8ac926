/* cay.h - run untrusted code in a sandbox that lives inside your process.
 *
 *   cay_engine *engine;  cay_sandbox *box;  cay_result *r;  cay_error err;
 *   cay_engine_new(NULL, &engine, &err);
 *   cay_sandbox_new(engine, NULL, &box, &err);
 *   cay_run(box, &CAY_INIT(cay_run_options, .command = "ls / | wc -l"), &r, &err);
 *
 * An engine owns compiled code. A sandbox owns one virtual kernel: a file tree, processes and limits. Nothing
 * of the host is reachable unless it was granted.
 *
 * Errors      A function that can fail returns cay_status and takes a cay_error* last (NULL: not wanted). On
 *             failure no out parameter is written. A guest that exits 1, traps or is killed is NOT a failure
 *             of the call: the status is CAY_OK and cay_result.end says how the guest ended.
 * Ownership   X_new returns an X that the caller owns; X_free releases it and accepts NULL. Every other
 *             pointer returned is borrowed, and the comment says until when. Arguments are copied before the
 *             call returns, except a callback's context, which lives as long as the object it was given to.
 * Options     Zero is the default for every field and the safe choice. CAY_INIT builds option structs and
 *             records the size the caller was compiled with. NULL options are all defaults.
 * Threads     Any function may be called from any thread. [any time] marks functions that never wait for a
 *             running guest. Runs of one sandbox may overlap: they share its files and processes. Callbacks
 *             come on a library thread, hold no lock, and may call [any time] functions on their own sandbox.
 * Process     The library keeps no global state and never aborts on bad input or lack of memory. It installs
 *             no signal handler beyond Wasmtime's own (SIGSEGV, SIGILL, SIGFPE, SIGBUS for traps of guests)
 *             and writes to no file descriptor that it was not given. */
#ifndef CAY_H
#define CAY_H

#include <cay/net.h>
#include <cay/status.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CAY_VERSION_MAJOR 0
#define CAY_VERSION_MINOR 3
#define CAY_VERSION_PATCH 0

/* CAY_INIT(cay_limits, .memory = 64 << 20): an option struct as an rvalue, &CAY_INIT(...) a pointer to one
 * that lives to the end of the block. C only: in C++ declare the struct, set .size = sizeof it and the fields
 * wanted. */
#define CAY_INIT(type, ...) ((type){ .size = sizeof(type), __VA_ARGS__ })
/* A string literal as a cay_slice. */
#define CAY_TEXT(text) ((cay_slice){ (text), sizeof(text) - 1 })

/* ------------------------------------------------------------- engine ---- */

typedef struct cay_engine cay_engine;
typedef struct cay_sandbox cay_sandbox;

typedef enum cay_log_level { CAY_LOG_ERROR, CAY_LOG_WARN, CAY_LOG_INFO, CAY_LOG_DEBUG } cay_log_level;
typedef void cay_log_fn(void *ctx, cay_log_level level, const char *area, const char *line);

typedef struct cay_engine_options {
  size_t size;
  const char *guest_dir; /* guests and their manifest; NULL: $CAY_GUESTS, else beside the library */
  const char *cache_dir; /* compiled code of other modules, trusted as code; NULL: memory only   */
  cay_log_fn *log;       /* NULL: silent */
  void *log_ctx;
  const cay_net_limits *net_limits; /* of every sandbox with a network; NULL: as net.h says */
  /* An installed image, such as "science": its programs take the place of namesakes, in every sandbox of this engine.
   * Or a userland, "busybox": NAME.list in the folder of the guests, whose programs are the only ones. NULL: none. */
  const char *image;
} cay_engine_options;

/* CAY_NOT_FOUND: no guests there, or the image is not installed. CAY_CORRUPT: their manifest cannot be read. */
CAY_CHECK CAY_API cay_status cay_engine_new(const cay_engine_options *options, cay_engine **out,
                                            cay_error *err);
CAY_API void cay_engine_free(cay_engine *engine); /* after its last sandbox */

/* Whether this can be the name of an installed image: lower-case letters, digits and '-'. Others are names of files. */
CAY_API bool cay_image_is_name(const char *image);

/* Makes the folder if need be, and says whether compiled code may be kept there. Code there is run as it is, so the
 * folder must belong to this user, and neither it nor a directory above it may be one that other users write to
 * (but for directories with a sticky bit, as /tmp). CAY_DENIED, CAY_IO. An engine with such a `cache_dir` is refused. */
CAY_CHECK CAY_API cay_status cay_cache_check(const char *dir, cay_error *err);

/* Modules that guests executed and that are still being compiled, perhaps without a waiting process: the compiler
 * cannot be interrupted, and cay_engine_free waits for it. A program that is about to end can leave the
 * engine as it is instead, and end by _exit(2). [any time] */
CAY_API size_t cay_engine_compiling(cay_engine *engine);

/* A program that every sandbox of this engine starts with. */
typedef struct cay_guest {
  const char *path;    /* in the sandbox: "/usr/bin/bash" */
  const char *module;  /* the file on the host        */
  uint64_t len;        /* bytes of the module         */
  bool precompiled;    /* its machine code is at hand and fits this host */
  uint32_t link_count; /* other names it has in the sandbox */
} cay_guest;

/* Number of guests; guest `index` in *out (NULL: not wanted). Strings live as long as the engine. */
CAY_API size_t cay_engine_guests(cay_engine *engine, size_t index, cay_guest *out);
CAY_API const char *cay_engine_guest_dir(cay_engine *engine);

/* ------------------------------------------------------------ sandbox ---- */

typedef struct cay_limits {
  size_t size;
  uint64_t memory;        /* bytes of all processes and of what waits in pipes; 0: 512 MiB */
  uint64_t disk;          /* bytes in the file tree; 0: 256 MiB                */
  uint64_t output;        /* bytes captured of each stream of a run; 0: 1 MiB  */
  uint64_t fuel;          /* wasm operations per run; 0: not counted           */
  uint32_t wall_ms;       /* per run; 0: 30 s; UINT32_MAX: none                */
  uint32_t processes;     /* at once; 0: 64                                    */
  uint32_t files;         /* inodes made or changed; 0: 65536                  */
  uint32_t open_files;    /* per process; 0: 1024                              */
  uint64_t code;          /* bytes of its own modules compiled; 0: 64 MiB      */
  uint64_t cpu_ms;        /* of the processor, all processes; 0: one hour; UINT64_MAX: none */
  uint32_t background_ms; /* for what a run or evaluation leaves running; 0: no limit */
} cay_limits;

/* `cpu_ms` is used up for the life of the sandbox by everything that runs in it: commands, evaluations, and the processes they
 * leave behind. Then all of it ends with CAY_END_TIME, and so does everything started afterwards; the result's
 * `detail` says which limit it was. Processes that a run leaves behind live on between runs; `background_ms`
 * after its end they are ended, too. */

/* `code` is about WebAssembly files that guests execute, each counted by its weight: its length, and more
 * if it is made to be hard to compile. It is used up for the life of the sandbox; what the engine or its
 * cache folder has costs nothing, nor does cay_run_options.module. Beyond it execve fails with EDQUOT, a run
 * of such a file with CAY_LIMIT. */

/* One line for each system call of the guests, on the thread that made it. */
typedef void cay_trace_fn(void *ctx, const char *line);

typedef struct cay_sandbox_options {
  size_t size;
  const cay_limits *limits; /* NULL: defaults */
  const char *const *env;   /* "NAME=value", NULL ended, over HOME, PATH, USER, LANG and their like */
  uint64_t seed;            /* non-zero: randomness repeats */
  cay_trace_fn *trace;      /* NULL: no trace */
  void *trace_ctx;
  const struct cay_packages *packages; /* that are there from the start; NULL: none */
  const cay_net_options *net;          /* NULL: the network is off */
} cay_sandbox_options;

typedef struct cay_usage {
  uint64_t memory, memory_peak; /* bytes, of cay_limits.memory */
  uint64_t disk, disk_peak;     /* bytes */
  uint64_t syscalls, unknown_syscalls;
  uint64_t forks, execs;
  uint32_t processes, processes_peak, files;
  uint64_t code;   /* of cay_limits.code, which is never given back */
  uint64_t cpu_ms; /* processor time of all its processes so far, of cay_limits.cpu_ms */
} cay_usage;

CAY_CHECK CAY_API cay_status cay_sandbox_new(cay_engine *engine, const cay_sandbox_options *options,
                                             cay_sandbox **out, cay_error *err);
CAY_API void cay_sandbox_interrupt(cay_sandbox *box); /* [any time] ends every process: CAY_END_CANCELLED */
CAY_API void cay_sandbox_usage(cay_sandbox *box, cay_usage *out); /* [any time] */
CAY_API void cay_sandbox_free(cay_sandbox *box);                  /* interrupts, then waits */

/* ----------------------------------------------------------- packages ---- */

/* Packages of pure Python or JavaScript, read once and shared by every sandbox that is made with them; a sandbox's change
 * is private to it. Immutable: any number of threads. Sandboxes keep references to its parts; it ends before the
 * engine. */
typedef struct cay_packages cay_packages;

/* `paths`, NULL ended, are of the host: wheels (PEP 427), folders (a package when there is an __init__.py,
 * else their contents) and modules (.py); they go to /usr/local/lib/python3.13/dist-packages. Of JavaScript: archives
 * of npm (.tgz, .tar.gz), folders with a package.json, and folders named node_modules; they go to /node_modules, where
 * require and import of every folder find them. The commands of a package go to /usr/local/bin; nothing of them is run. CAY_NOT_FOUND: no such package. CAY_UNSUPPORTED:
 * machine code, or for another platform or Python. CAY_CORRUPT, CAY_INVALID: a damaged archive, or one with
 * names that lead out of it. CAY_LIMIT: a file beyond 256 MiB, a package beyond 1 GiB or 65,536 files. */
CAY_CHECK CAY_API cay_status cay_packages_open(cay_engine *engine, const char *const *paths,
                                               cay_packages **out, cay_error *err);
CAY_API void cay_packages_free(cay_packages *packages);

/* The same for one package and a sandbox that is there. A refused package leaves nothing behind; when the disk
 * is full, a part of it is there. [any time] */
CAY_CHECK CAY_API cay_status cay_sandbox_install(cay_sandbox *box, const char *path, cay_error *err);

/* The environment that later runs start with. A NULL value removes. [any time] CAY_INVALID: "" or '=' in the
 * name. */
CAY_CHECK CAY_API cay_status cay_sandbox_setenv(cay_sandbox *box, const char *name, const char *value,
                                                cay_error *err);
/* A copy with a NUL after it, not counted in len. CAY_NOT_FOUND: not set. [any time] */
CAY_CHECK CAY_API cay_status cay_sandbox_getenv(cay_sandbox *box, const char *name, cay_buf *out,
                                                cay_error *err);

/* ---------------------------------------------------------------- run ---- */

typedef enum cay_end {
  CAY_END_EXIT,   /* code is the exit code                              */
  CAY_END_SIGNAL, /* code is the signal number                          */
  CAY_END_TRAP,   /* likewise; `detail` names the trap and shows the stack */
  CAY_END_TIME,   /* wall_ms reached; everything it started is gone     */
  CAY_END_FUEL,
  CAY_END_CANCELLED,
} cay_end;

CAY_API const char *cay_end_name(cay_end end); /* "exit"; static */

/* Called as output appears, in order; never two at once for one run. fd is 1 or 2. The guest sleeps until it
 * returns. */
typedef void cay_output_fn(void *ctx, int fd, cay_slice bytes);

/* From now on cay_process_wait returns at once. Called once, on a library thread that holds a lock of the sandbox: it must
 * neither block nor call the library. It may come before cay_spawn has returned. */
typedef void cay_ended_fn(void *ctx);

/* Exactly one of `argv` (looked up in PATH when it has no '/') and `command` says what to run. */
typedef struct cay_run_options {
  size_t size;
  const char *const *argv; /* a program and its arguments, NULL ended     */
  const char *command;     /* a line for the sandbox shell: bash -c       */
  cay_slice module;        /* a WebAssembly module to run as argv instead of a file of the sandbox */
  const char *cwd;         /* NULL: "/home/agent"                         */
  const char *const *env;  /* "NAME=value", NULL ended, over the sandbox's */
  cay_slice input;         /* standard input; empty: at end of file       */
  bool input_open;         /* cay_spawn: then cay_process_write goes on   */
  bool no_capture;         /* only `output` gets the bytes                */
  uint32_t wall_ms;        /* lowers the sandbox's limit, never raises it; 0: that limit */
  uint64_t fuel;           /* likewise                                    */
  cay_output_fn *output;   /* NULL: only captured                         */
  void *output_ctx;
  bool tty;                    /* the three streams are a terminal: see below */
  uint16_t tty_rows, tty_cols; /* 0: 24, 80                               */
  cay_ended_fn *ended;         /* of cay_spawn; NULL: not wanted          */
  void *ended_ctx;             /* lives until cay_process_free            */
} cay_run_options;

/* With `tty` the program leads a session on a pseudo-terminal, as in a window: lines are edited and echoed,
 * Ctrl-C is a signal, bash has job control, TERM is "xterm" unless `env` says otherwise. Input is text
 * typed, up to 64 KiB before the program reads; output, the echo included, is all of descriptor 1 and comes
 * on a thread of the library. Escape sequences in it are the guest's: show it only where you would
 * not show a hostile file. When the program ends, the terminal is hung up. */

/* The whole story of one run. Fields stay valid until cay_result_free. */
/* Why the first program of a run never ran, when `end` is CAY_END_TRAP. */
typedef enum cay_start {
  CAY_START_OK,     /* it ran, or ended otherwise                                          */
  CAY_START_MEMORY, /* limits.memory is too little for it                                  */
  CAY_START_HOST,   /* the host refused address space or memory: `detail` has its words     */
} cay_start;

typedef struct cay_result {
  cay_end end;
  int32_t code;
  cay_slice out, err;    /* captured output, up to limits.output        */
  bool out_cut, err_cut; /* there was more                              */
  cay_slice detail;      /* text of a trap; the limit of the sandbox that ended it (CAY_END_TIME), else "" */
  uint64_t wall_ns;      /* from the call to the end of the program     */
  uint64_t fuel;         /* operations used, when they were counted     */
  cay_usage usage;       /* of the sandbox, at the end                  */
  cay_start start;
} cay_result;

/* The code a shell would show: the exit code, 128 + signal, 124 for time, fuel and cancellation. */
CAY_API int cay_result_exit_code(const cay_result *result);

/* Runs it, and waits for its end. Processes it leaves in the background live on, and writes to `output` until it
 * ends: `output_ctx` must live until the sandbox is freed, as cay_process_free says. */
CAY_CHECK CAY_API cay_status cay_run(cay_sandbox *box, const cay_run_options *options, cay_result **out,
                                     cay_error *err);
CAY_API void cay_result_free(cay_result *result);

/* ------------------------------------------------------------ process ---- */

typedef struct cay_process cay_process;

/* As cay_run, without waiting. CAY_NOT_FOUND, CAY_DENIED, CAY_INVALID: the program cannot be run. CAY_LIMIT. */
CAY_CHECK CAY_API cay_status cay_spawn(cay_sandbox *box, const cay_run_options *options, cay_process **out,
                                       cay_error *err);

/* To its standard input, all of it; waits while the guest does not read. CAY_IO: it has no reader any more.
 * CAY_INVALID: input was not left open. */
CAY_CHECK CAY_API cay_status cay_process_write(cay_process *process, cay_slice bytes, cay_error *err);
/* [any time] As much of it as there is room for, now: the count in *out. */
CAY_CHECK CAY_API cay_status cay_process_write_some(cay_process *process, cay_slice bytes, size_t *out,
                                                    cay_error *err);
CAY_API void cay_process_close_input(cay_process *process); /* [any time] end of file */
/* [any time] The window of its terminal has this size; the program gets SIGWINCH. CAY_INVALID: it has none. */
CAY_CHECK CAY_API cay_status cay_process_resize(cay_process *process, uint16_t rows, uint16_t cols,
                                                cay_error *err);
CAY_API void cay_process_signal(cay_process *process,
                                int signal);         /* [any time] to its process group; gone: no effect */
CAY_API void cay_process_kill(cay_process *process); /* [any time] it and all it started: CAY_END_CANCELLED */
CAY_API int32_t cay_process_pid(cay_process *process); /* in the sandbox */

/* Waits up to `timeout_ms` (< 0: for ever). CAY_TIMEOUT: still running. Each call that succeeds gives a
 * result of its own. */
CAY_CHECK CAY_API cay_status cay_process_wait(cay_process *process, int64_t timeout_ms, cay_result **out,
                                              cay_error *err);
CAY_API void cay_process_free(
    cay_process *process); /* does not end it; its output still goes to `output` until it ends: the
                            * context must live until the sandbox is freed or the process has ended */

/* -------------------------------------------------------------- files ---- */

/* The whole family is [any time]: an agent reads files while a command runs. Paths are absolute in the
 * sandbox; made files belong to its user. A failure has the sandbox's errno in err->os_errno, and its name
 * begins the message ("ENOENT: …"). */

typedef enum cay_kind { CAY_FILE, CAY_DIR, CAY_LINK, CAY_OTHER } cay_kind;
typedef struct cay_stat {
  cay_kind kind;
  uint32_t mode;    /* permission bits */
  uint64_t len;     /* bytes; 0 for directories */
  int64_t mtime_ns; /* since 1970 */
} cay_stat;
typedef bool cay_list_fn(void *ctx, const char *name, const cay_stat *stat); /* false stops */

/* The whole file. CAY_LIMIT (EFBIG): it is larger than the sandbox's limit of disk, as a file with holes may be; with
 * cay_file_read_max, larger than `max` bytes. Holes count; not more than these bytes are allocated. */
CAY_CHECK CAY_API cay_status cay_file_read(cay_sandbox *box, const char *path, cay_buf *out, cay_error *err);
CAY_CHECK CAY_API cay_status cay_file_read_max(cay_sandbox *box, const char *path, uint64_t max, cay_buf *out,
                                               cay_error *err);
/* Replaces the file; makes parents as needed. mode 0: 0644. */
CAY_CHECK CAY_API cay_status cay_file_write(cay_sandbox *box, const char *path, cay_slice bytes,
                                            uint32_t mode, cay_error *err);
/* Part of a file: the count read (0: at the end) or all bytes written at `offset` (UINT64_MAX: at the end). */
CAY_CHECK CAY_API cay_status cay_file_read_at(cay_sandbox *box, const char *path, uint64_t offset, void *buf,
                                              size_t cap, size_t *out, cay_error *err);
CAY_CHECK CAY_API cay_status cay_file_write_at(cay_sandbox *box, const char *path, uint64_t offset,
                                               cay_slice bytes, cay_error *err);
/* For copies that keep holes: the first bytes at or after `offset` that are in no hole are [*start, *end). Without any,
 * both are the length of the file. A file without a length (of /proc) is all data, up to UINT64_MAX. The file may change
 * before it is read. */
CAY_CHECK CAY_API cay_status cay_file_next_data(cay_sandbox *box, const char *path, uint64_t offset,
                                                uint64_t *start, uint64_t *end, cay_error *err);
CAY_CHECK CAY_API cay_status cay_file_stat(cay_sandbox *box, const char *path, cay_stat *out,
                                           cay_error *err); /* of the target of a symlink */
CAY_CHECK CAY_API cay_status cay_file_lstat(cay_sandbox *box, const char *path, cay_stat *out,
                                            cay_error *err); /* of the symlink itself */
CAY_CHECK CAY_API cay_status cay_file_list(cay_sandbox *box, const char *path, cay_list_fn *each, void *ctx,
                                           cay_error *err);
CAY_CHECK CAY_API cay_status cay_file_mkdir(cay_sandbox *box, const char *path, bool parents,
                                            cay_error *err); /* parents: mkdir -p */
/* Makes parents as needed. */
CAY_CHECK CAY_API cay_status cay_file_symlink(cay_sandbox *box, const char *target, const char *path,
                                              cay_error *err);
CAY_CHECK CAY_API cay_status cay_file_readlink(cay_sandbox *box, const char *path, cay_buf *out,
                                               cay_error *err);
CAY_CHECK CAY_API cay_status cay_file_chmod(cay_sandbox *box, const char *path, uint32_t mode,
                                            cay_error *err);
CAY_CHECK CAY_API cay_status cay_file_rename(cay_sandbox *box, const char *from, const char *to,
                                             cay_error *err);
/* A file or an empty directory; recursive: and all that is below. */
CAY_CHECK CAY_API cay_status cay_file_remove(cay_sandbox *box, const char *path, bool recursive,
                                             cay_error *err);

typedef struct cay_mount_options {
  size_t size;
  const char *host_path; /* a directory, or one regular file; resolved once, never left */
  const char *path;      /* where the guest sees it; made if missing    */
  bool writable;
  bool
      copy_on_write; /* instead: the guest may write, and nothing of it reaches the host (cay_mount_changes) */
} cay_mount_options;

CAY_CHECK CAY_API cay_status cay_mount(cay_sandbox *box, const cay_mount_options *options, cay_error *err);
CAY_CHECK CAY_API cay_status cay_unmount(cay_sandbox *box, const char *path,
                                         cay_error *err); /* CAY_BUSY: in use */

#ifdef __cplusplus
}
#endif
#endif /* CAY_H */
