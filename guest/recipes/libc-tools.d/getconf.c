/* getconf - values of the configuration (getconf(1)): sysconf(3), pathconf(3), confstr(3), limits of the C types. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum kind { SYSTEM, PATH, TEXT, FIXED };

static const struct value {
  const char *name;
  enum kind kind;
  long key;
} values[] = {
#define S(name) { #name, SYSTEM, _SC_##name }
#define S_AS(name, key) { name, SYSTEM, key }
#define P(name) { #name, PATH, _PC_##name }
#define F(name, value) { name, FIXED, value }
  S(ARG_MAX),
  S(CHILD_MAX),
  S(CLK_TCK),
  S(NGROUPS_MAX),
  S(OPEN_MAX),
  S(STREAM_MAX),
  S(TZNAME_MAX),
  S(LOGIN_NAME_MAX),
  S(HOST_NAME_MAX),
  S(TTY_NAME_MAX),
  S(LINE_MAX),
  S(IOV_MAX),
  S(RE_DUP_MAX),
  S(EXPR_NEST_MAX),
  S(BC_BASE_MAX),
  S(BC_DIM_MAX),
  S(BC_SCALE_MAX),
  S(BC_STRING_MAX),
  S(COLL_WEIGHTS_MAX),
  S(SYMLOOP_MAX),
  S(ATEXIT_MAX),
  S(SIGQUEUE_MAX),
  S(TIMER_MAX),
  S(MQ_OPEN_MAX),
  S(MQ_PRIO_MAX),
  S(SEM_NSEMS_MAX),
  S(SEM_VALUE_MAX),
  S(DELAYTIMER_MAX),
  S(RTSIG_MAX),
  S(GETPW_R_SIZE_MAX),
  S(GETGR_R_SIZE_MAX),
  S_AS("PAGESIZE", _SC_PAGESIZE),
  S_AS("PAGE_SIZE", _SC_PAGESIZE),
  S_AS("_NPROCESSORS_CONF", _SC_NPROCESSORS_CONF),
  S_AS("_NPROCESSORS_ONLN", _SC_NPROCESSORS_ONLN),
  S_AS("NPROCESSORS_CONF", _SC_NPROCESSORS_CONF),
  S_AS("NPROCESSORS_ONLN", _SC_NPROCESSORS_ONLN),
  S_AS("_PHYS_PAGES", _SC_PHYS_PAGES),
  S_AS("_AVPHYS_PAGES", _SC_AVPHYS_PAGES),
  S_AS("_POSIX_VERSION", _SC_VERSION),
  S_AS("POSIX2_VERSION", _SC_2_VERSION),
  S_AS("_POSIX_JOB_CONTROL", _SC_JOB_CONTROL),
  S_AS("_POSIX_SAVED_IDS", _SC_SAVED_IDS),
  S_AS("_POSIX_TIMERS", _SC_TIMERS),
  S_AS("_POSIX_MESSAGE_PASSING", _SC_MESSAGE_PASSING),
  S_AS("_POSIX_SEMAPHORES", _SC_SEMAPHORES),
  S_AS("_XOPEN_VERSION", _SC_XOPEN_VERSION),
  P(LINK_MAX),
  P(MAX_CANON),
  P(MAX_INPUT),
  P(NAME_MAX),
  P(PATH_MAX),
  P(PIPE_BUF),
  P(FILESIZEBITS),
  P(SYMLINK_MAX),
  { "_POSIX_NO_TRUNC", PATH, _PC_NO_TRUNC },
  { "_POSIX_CHOWN_RESTRICTED", PATH, _PC_CHOWN_RESTRICTED },
  { "_POSIX_VDISABLE", PATH, _PC_VDISABLE },
  { "PATH", TEXT, _CS_PATH },
  { "CS_PATH", TEXT, _CS_PATH },
  F("LONG_BIT", 8 * (long)sizeof(long)),
  F("WORD_BIT", 8 * (long)sizeof(int)),
  F("CHAR_BIT", CHAR_BIT),
  F("CHAR_MAX", CHAR_MAX),
  F("CHAR_MIN", CHAR_MIN),
  F("INT_MAX", INT_MAX),
  F("INT_MIN", INT_MIN),
  F("SCHAR_MAX", SCHAR_MAX),
  F("SCHAR_MIN", SCHAR_MIN),
  F("SHRT_MAX", SHRT_MAX),
  F("SHRT_MIN", SHRT_MIN),
  F("SSIZE_MAX", SSIZE_MAX),
  F("UCHAR_MAX", UCHAR_MAX),
  F("USHRT_MAX", USHRT_MAX),
  F("MB_LEN_MAX", MB_LEN_MAX),
  F("NZERO", NZERO),
  F("NL_ARGMAX", NL_ARGMAX),
  F("NL_TEXTMAX", NL_TEXTMAX),
  F("LFS_CFLAGS", -1),
  F("_POSIX_PATH_MAX", _POSIX_PATH_MAX),
  F("_POSIX_NAME_MAX", _POSIX_NAME_MAX),
  F("_POSIX_PIPE_BUF", _POSIX_PIPE_BUF),
};

static int show_number(long n) {
  if (n < 0 && errno) return perror("getconf"), 1;
  if (n == -1)
    puts("undefined");
  else
    printf("%ld\n", n);
  return 0;
}

static int show(const struct value *v, const char *path) {
  char text[1024];
  errno = 0;
  switch (v->kind) {
  case SYSTEM: return show_number(sysconf((int)v->key));
  case PATH: return show_number(pathconf(path ? path : "/", (int)v->key));
  case TEXT: return confstr((int)v->key, text, sizeof text) ? puts(text), 0 : 1;
  default: printf(strcmp(v->name, "LFS_CFLAGS") ? "%ld\n" : "\n", v->key); return 0;
  }
}

static int show_all(const char *path) {
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    printf("%-35s", values[i].name);
    show(&values[i], path);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "-a") == 0) return show_all(argv[2]);
  if (argc < 2 || argc > 3) {
    fputs("Usage: getconf [-v SPEC] VAR\n  or:  getconf [-v SPEC] PATH_VAR PATH\n", stderr);
    return 2;
  }
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    if (strcmp(values[i].name, argv[1]) == 0) return show(&values[i], argv[2]);
  fprintf(stderr, "getconf: Unrecognized variable `%s'\n", argv[1]);
  return 2;
}
