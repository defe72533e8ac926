/* Child processes, pipes to them, waiting for descriptors, and signals that come in. */
#define _GNU_SOURCE
#include "native.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "children.h"
#include "driver.h"

extern char **environ;

/* ---- starting one ---- */

static bool add_descriptors(JSContext *c, posix_spawn_file_actions_t *actions, JSValueConst list) {
  uint32_t count = native_length(c, list);
  for (uint32_t i = 0; i < count; i++) {
    JSValue value = JS_GetPropertyUint32(c, list, i);
    int fd = native_int(c, value), failed;
    JS_FreeValue(c, value);
    if (fd < 0)
      failed = posix_spawn_file_actions_addopen(actions, (int)i, "/dev/null", O_RDWR, 0);
    else
      failed = posix_spawn_file_actions_adddup2(actions, fd, (int)i);
    if (failed) return false;
  }
  return true;
}

/* The child has the default for each signal, as elsewhere, and none of them blocked. */
static void set_signals(posix_spawnattr_t *attributes, bool own_group) {
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(attributes, &all);
  posix_spawnattr_setsigmask(attributes, &none);
  posix_spawnattr_setpgroup(attributes, 0);
  posix_spawnattr_setflags(attributes, (short)(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                               (own_group ? POSIX_SPAWN_SETPGROUP : 0)));
}

/* spawn(file, args, environment, folder, descriptors, own group): the process, or -errno */
NATIVE(spawn) {
  char *file = native_path(c, argv[0]), *folder = NULL;
  char **args = file ? native_strings(c, argv[1]) : NULL, **env = NULL;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  pid_t pid = 0;
  int failed = ENOMEM;
  if (!args) return js_free(c, file), JS_EXCEPTION;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  set_signals(&attributes, JS_ToBool(c, argv[5]));
  if (JS_IsObject(argv[2])) env = native_strings(c, argv[2]);
  if (JS_IsString(argv[3])) folder = native_path(c, argv[3]);
  if (folder) posix_spawn_file_actions_addchdir_np(&actions, folder);
  if (add_descriptors(c, &actions, argv[4]))
    failed = posix_spawnp(&pid, file, &actions, &attributes, args, env ? env : environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  native_free_strings(c, args);
  if (env) native_free_strings(c, env);
  js_free(c, file);
  js_free(c, folder);
  return JS_NewInt32(c, failed ? -failed : pid);
}

/* exec(file, args): -errno, if it comes back */
NATIVE(exec) {
  char *file = native_path(c, argv[0]);
  char **args = file ? native_strings(c, argv[1]) : NULL;
  if (!args) return js_free(c, file), JS_EXCEPTION;
  execv(file, args);
  JSValue failed = native_result(c, -1);
  native_free_strings(c, args);
  js_free(c, file);
  return failed;
}

/* wait(pid, block): [pid, exit code, signal], 0 while it runs, or -errno */
NATIVE(wait_) {
  int status;
  pid_t pid = waitpid(native_int(c, argv[0]), &status, JS_ToBool(c, argv[1]) ? 0 : WNOHANG);
  if (pid <= 0) return native_result(c, pid);
  const int parts[] = { pid, WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                        WIFSIGNALED(status) ? WTERMSIG(status) : 0 };
  JSValue list = JS_NewArray(c);
  for (uint32_t i = 0; i < 3; i++) JS_SetPropertyUint32(c, list, i, JS_NewInt32(c, parts[i]));
  return list;
}

NATIVE(pipe_) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return native_result(c, -1);
  JSValue list = JS_NewArray(c);
  for (uint32_t i = 0; i < 2; i++) JS_SetPropertyUint32(c, list, i, JS_NewInt32(c, ends[i]));
  return list;
}

/* ---- waiting ---- */

/* poll([fd, events, …], ms): [events, …]; all zero when a signal came first */
NATIVE(poll_) {
  uint32_t count = native_length(c, argv[0]) / 2;
  struct pollfd *fds = js_mallocz(c, (count + 1) * sizeof *fds);
  if (!fds) return JS_EXCEPTION;
  for (uint32_t i = 0; i < count; i++) {
    JSValue fd = JS_GetPropertyUint32(c, argv[0], 2 * i),
            events = JS_GetPropertyUint32(c, argv[0], 2 * i + 1);
    fds[i] = (struct pollfd){ native_int(c, fd), (short)native_int(c, events), 0 };
    JS_FreeValue(c, fd);
    JS_FreeValue(c, events);
  }
  bool came = children_signal_waits();
  if (poll(fds, count, came ? 0 : native_int(c, argv[1])) < 0)
    for (uint32_t i = 0; i < count; i++) fds[i].revents = 0;
  JSValue list = JS_NewArray(c);
  for (uint32_t i = 0; i < count; i++) JS_SetPropertyUint32(c, list, i, JS_NewInt32(c, fds[i].revents));
  js_free(c, fds);
  return list;
}

/* ---- signals ---- */

enum { SIGNALS = 65 };

static _Atomic uint32_t came[SIGNALS];
static _Atomic uint32_t any_came;

static void on_signal(int number) {
  if (number <= 0 || number >= SIGNALS) return;
  atomic_fetch_add(&came[number], 1);
  atomic_store(&any_came, 1);
}

bool children_signal_waits(void) { return atomic_load(&any_came); }

bool children_interrupted(void) { return atomic_load(&came[SIGINT]) != 0; }

static int set_action(int number, void (*handler)(int)) {
  struct sigaction action = { .sa_handler = handler };
  return sigaction(number, &action, NULL);
}

NATIVE(watchSignal) { return native_result(c, set_action(native_int(c, argv[0]), on_signal)); }
NATIVE(forgetSignal) {
  int number = native_int(c, argv[0]);
  return native_result(c, set_action(number, number == SIGINT ? stop_interrupt_action() : SIG_DFL));
}
NATIVE(ignoreSignal) { return native_result(c, set_action(native_int(c, argv[0]), SIG_IGN)); }

/* From here on SIGINT ends what runs; interruptOff says whether it came. */
NATIVE(interruptOn) {
  atomic_store(&came[SIGINT], 0);
  stop_on_interrupt(true);
  return native_result(c, set_action(SIGINT, on_signal));
}

NATIVE(interruptOff) {
  stop_on_interrupt(false);
  return JS_NewBool(c, atomic_exchange(&came[SIGINT], 0) != 0);
}

NATIVE(isInterrupted) { return JS_NewBool(c, children_interrupted()); }

/* [number, …] of those that came since the last look, each once. */
NATIVE(takeSignals) {
  if (!atomic_exchange(&any_came, 0)) return JS_UNDEFINED;
  JSValue list = JS_NewArray(c);
  uint32_t count = 0;
  for (int i = 1; i < SIGNALS; i++)
    if (atomic_exchange(&came[i], 0)) JS_SetPropertyUint32(c, list, count++, JS_NewInt32(c, i));
  return list;
}

static const JSCFunctionListEntry functions[] = {
  FUNCTION(spawn, 6),
  FUNCTION(exec, 2),
  JS_CFUNC_DEF("wait", 2, wait_),
  JS_CFUNC_DEF("pipe", 0, pipe_),
  JS_CFUNC_DEF("poll", 2, poll_),
  FUNCTION(watchSignal, 1),
  FUNCTION(forgetSignal, 1),
  FUNCTION(ignoreSignal, 1),
  FUNCTION(takeSignals, 0),
  FUNCTION(interruptOn, 0),
  FUNCTION(interruptOff, 0),
  FUNCTION(isInterrupted, 0),
};

void native_add_children(JSContext *c, JSValueConst into) { ADD(into, functions); }
