/* The process and its surroundings: environment, identity, clocks, signals that it sends, randomness. */
#define _GNU_SOURCE
#include "native.h"

#include <errno.h>
#include <netdb.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* ---- environment ---- */

NATIVE(getenv_) {
  const char *name = JS_ToCString(c, argv[0]);
  if (!name) return JS_EXCEPTION;
  const char *text = getenv(name);
  JS_FreeCString(c, name);
  return text ? JS_NewString(c, text) : JS_UNDEFINED;
}

NATIVE(setenv_) {
  const char *name = JS_ToCString(c, argv[0]), *text = name ? JS_ToCString(c, argv[1]) : NULL;
  if (text) setenv(name, text, 1);
  JSValue done = text ? JS_UNDEFINED : JS_EXCEPTION;
  JS_FreeCString(c, name);
  JS_FreeCString(c, text);
  return done;
}

NATIVE(unsetenv_) {
  const char *name = JS_ToCString(c, argv[0]);
  if (name) unsetenv(name);
  JS_FreeCString(c, name);
  return name ? JS_UNDEFINED : JS_EXCEPTION;
}

NATIVE(environmentNames) {
  JSValue list = JS_NewArray(c);
  uint32_t count = 0;
  for (char **e = environ; e && *e; e++) {
    const char *sign = strchr(*e, '=');
    if (sign && sign != *e)
      JS_SetPropertyUint32(c, list, count++, JS_NewStringLen(c, *e, (size_t)(sign - *e)));
  }
  return list;
}

/* ---- identity ---- */

NATIVE(getpid_) { return JS_NewInt32(c, getpid()); }
NATIVE(getppid_) { return JS_NewInt32(c, getppid()); }
NATIVE(getuid_) { return JS_NewUint32(c, getuid()); }
NATIVE(geteuid_) { return JS_NewUint32(c, geteuid()); }
NATIVE(getgid_) { return JS_NewUint32(c, getgid()); }
NATIVE(getegid_) { return JS_NewUint32(c, getegid()); }
NATIVE(kill_) { return native_result(c, kill(native_int(c, argv[0]), native_int(c, argv[1]))); }
NATIVE(getpriority_) {
  errno = 0;
  int priority = getpriority(PRIO_PROCESS, (id_t)native_int(c, argv[0]));
  JSValue both = JS_NewArray(c);
  JS_SetPropertyUint32(c, both, 0, JS_NewInt32(c, -errno));
  JS_SetPropertyUint32(c, both, 1, JS_NewInt32(c, priority));
  return both;
}
NATIVE(setpriority_) {
  return native_result(c, setpriority(PRIO_PROCESS, (id_t)native_int(c, argv[0]), native_int(c, argv[1])));
}

static void put_text(JSContext *c, JSValueConst list, uint32_t at, const char *text) {
  JS_SetPropertyUint32(c, list, at, JS_NewString(c, text));
}

/* [system, version, release, machine, host] */
NATIVE(uname_) {
  struct utsname u;
  JSValue list = JS_NewArray(c);
  if (uname(&u) < 0) return list;
  const char *const parts[] = { u.sysname, u.version, u.release, u.machine, u.nodename };
  for (uint32_t i = 0; i < sizeof parts / sizeof *parts; i++) put_text(c, list, i, parts[i]);
  return list;
}

/* [name, home, shell, uid, gid]; undefined: the user is unknown */
NATIVE(user) {
  const struct passwd *p = getpwuid(getuid());
  if (!p) return JS_UNDEFINED;
  JSValue list = JS_NewArray(c);
  put_text(c, list, 0, p->pw_name);
  put_text(c, list, 1, p->pw_dir);
  put_text(c, list, 2, p->pw_shell);
  JS_SetPropertyUint32(c, list, 3, JS_NewUint32(c, p->pw_uid));
  JS_SetPropertyUint32(c, list, 4, JS_NewUint32(c, p->pw_gid));
  return list;
}

/* ---- clocks and use of resources ---- */

static double clock_ms(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

NATIVE(now) { return JS_NewFloat64(c, clock_ms(CLOCK_MONOTONIC)); }
NATIVE(wallClock) { return JS_NewFloat64(c, clock_ms(CLOCK_REALTIME)); }

NATIVE(nanoseconds) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return JS_NewBigUint64(c, (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec);
}

NATIVE(sleep_) {
  int64_t ms = native_integer(c, argv[0]);
  struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };
  nanosleep(&t, NULL);
  return JS_UNDEFINED;
}

static double microseconds(struct timeval t) { return (double)t.tv_sec * 1e6 + (double)t.tv_usec; }

/* 16 numbers in the order of Node's binding. */
NATIVE(resourceUsage) {
  struct rusage u;
  JSValue list = JS_NewArray(c);
  if (getrusage(RUSAGE_SELF, &u) < 0) return list;
  const double fields[] = {
    microseconds(u.ru_utime), microseconds(u.ru_stime), (double)u.ru_maxrss,  (double)u.ru_ixrss,
    (double)u.ru_idrss,       (double)u.ru_isrss,       (double)u.ru_minflt,  (double)u.ru_majflt,
    (double)u.ru_nswap,       (double)u.ru_inblock,     (double)u.ru_oublock, (double)u.ru_msgsnd,
    (double)u.ru_msgrcv,      (double)u.ru_nsignals,    (double)u.ru_nvcsw,   (double)u.ru_nivcsw,
  };
  for (uint32_t i = 0; i < sizeof fields / sizeof *fields; i++)
    JS_SetPropertyUint32(c, list, i, JS_NewFloat64(c, fields[i]));
  return list;
}

/* [uptime, total memory, free memory, loads of 1, 5 and 15 minutes] */
NATIVE(systemInfo) {
  struct sysinfo s = { 0 };
  JSValue list = JS_NewArray(c);
  (void)!sysinfo(&s);
  const double unit = s.mem_unit ? s.mem_unit : 1;
  const double fields[] = {
    (double)s.uptime,           (double)s.totalram * unit,  (double)s.freeram * unit,
    (double)s.loads[0] / 65536, (double)s.loads[1] / 65536, (double)s.loads[2] / 65536
  };
  for (uint32_t i = 0; i < sizeof fields / sizeof *fields; i++)
    JS_SetPropertyUint32(c, list, i, JS_NewFloat64(c, fields[i]));
  return list;
}

/* Bytes of the memory that this instance has. */
NATIVE(residentMemory) {
#ifdef __wasm__
  return JS_NewInt64(c, (int64_t)__builtin_wasm_memory_size(0) * 65536);
#else
  struct rusage u;
  return JS_NewInt64(c, getrusage(RUSAGE_SELF, &u) < 0 ? 0 : u.ru_maxrss * 1024);
#endif
}

/* ---- the rest ---- */

/* randomFill(bytes, offset, length) */
NATIVE(randomFill) {
  size_t len;
  uint8_t *data = native_bytes(c, argv[0], &len);
  int64_t at = native_integer(c, argv[1]), count = native_integer(c, argv[2]);
  if (at < 0 || (size_t)at > len) at = (int64_t)len;
  size_t end = count < 0 || (size_t)count > len - (size_t)at ? len : (size_t)at + (size_t)count;
  for (size_t i = (size_t)at; i < end;) {
    ssize_t got = getrandom(data + i, end - i, 0);
    if (got < 0 && errno != EINTR) return native_result(c, -1);
    if (got > 0) i += (size_t)got;
  }
  return JS_NewInt32(c, 0);
}

NATIVE(exit_) {
  fflush(NULL);
  terminal_restore();
  _exit(native_int(c, argv[0]));
}

NATIVE(abort_) { abort(); }

NATIVE(errorText) { return JS_NewString(c, strerror(native_int(c, argv[0]))); }

#define CALL(name, count) JS_CFUNC_DEF(#name, count, name##_)

static const JSCFunctionListEntry functions[] = {
  CALL(getenv, 1),
  CALL(setenv, 2),
  CALL(unsetenv, 1),
  CALL(getpid, 0),
  CALL(getppid, 0),
  CALL(getuid, 0),
  CALL(geteuid, 0),
  CALL(getgid, 0),
  CALL(getegid, 0),
  CALL(kill, 2),
  CALL(uname, 0),
  CALL(sleep, 1),
  CALL(exit, 1),
  CALL(abort, 0),
  CALL(getpriority, 1),
  CALL(setpriority, 2),
  FUNCTION(environmentNames, 0),
  FUNCTION(user, 0),
  FUNCTION(now, 0),
  FUNCTION(wallClock, 0),
  FUNCTION(nanoseconds, 0),
  FUNCTION(resourceUsage, 0),
  FUNCTION(systemInfo, 0),
  FUNCTION(residentMemory, 0),
  FUNCTION(randomFill, 3),
  FUNCTION(errorText, 1),
};

void native_add_process(JSContext *c, JSValueConst into) { ADD(into, functions); }
