/* trace.c - one readable line per system call, as strace(1) writes it, from the format column of
 * syscalls.def. */
#include "abi/linux/layout.h"
#include "abi/linux/machine.h"
#include "abi/linux/runner_inner.h"

#include <stdarg.h>
#include <stdio.h>

enum { TEXT_SHOWN = 32, STRINGS_SHOWN = 8, IOV_SHOWN = 4 };

/* A line that is being written; what does not fit is dropped. */
struct line {
  char *text;
  size_t len, cap;
};

static void PRINTF(2, 3) add(struct line *l, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(l->text + l->len, l->cap - l->len, format, args);
  va_end(args);
  if (n > 0) l->len += (size_t)n < l->cap - l->len ? (size_t)n : l->cap - l->len - 1;
}

/* ---- words for numbers ---- */

struct word {
  uint32_t bits;
  const char *name;
};

/* All words whose bits are set, then what is left. */
static void add_bits(struct line *l, uint32_t value, const struct word *words, size_t count) {
  const char *between = "";
  for (size_t i = 0; i < count; i++) {
    if (words[i].bits == 0 || (value & words[i].bits) != words[i].bits) continue;
    add(l, "%s%s", between, words[i].name);
    value &= ~words[i].bits;
    between = "|";
  }
  if (value != 0)
    add(l, "%s%#x", between, value);
  else if (*between == 0)
    add(l, "0");
}

static void add_word(struct line *l, uint32_t value, const struct word *words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (words[i].bits != value) continue;
    add(l, "%s", words[i].name);
    return;
  }
  add(l, "%#x", value);
}

static void add_open_flags(struct line *l, uint32_t flags) {
  static const char *const access[] = { "O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE" };
  static const struct word words[] = {
    { K_O_CREAT, "O_CREAT" },         { K_O_EXCL, "O_EXCL" },           { K_O_NOCTTY, "O_NOCTTY" },
    { K_O_TRUNC, "O_TRUNC" },         { K_O_APPEND, "O_APPEND" },       { K_O_NONBLOCK, "O_NONBLOCK" },
    { K_O_SYNC, "O_SYNC" },           { K_O_DSYNC, "O_DSYNC" },         { K_O_DIRECT, "O_DIRECT" },
    { K_O_TMPFILE, "O_TMPFILE" },     { K_O_DIRECTORY, "O_DIRECTORY" }, { K_O_NOFOLLOW, "O_NOFOLLOW" },
    { K_O_LARGEFILE, "O_LARGEFILE" }, { K_O_NOATIME, "O_NOATIME" },     { K_O_CLOEXEC, "O_CLOEXEC" },
    { K_O_PATH, "O_PATH" },
  };
  add(l, "%s", access[flags & K_O_ACCMODE]);
  flags &= ~(uint32_t)K_O_ACCMODE;
  if (flags == 0) return;
  add(l, "|");
  add_bits(l, flags, words, COUNT_OF(words));
}

static void add_at_flags(struct line *l, uint32_t flags) {
  static const struct word words[] = {
    { 0x100, "AT_SYMLINK_NOFOLLOW" }, { 0x200, "AT_REMOVEDIR" },   { 0x400, "AT_SYMLINK_FOLLOW" },
    { 0x800, "AT_NO_AUTOMOUNT" },     { 0x1000, "AT_EMPTY_PATH" },
  };
  add_bits(l, flags, words, COUNT_OF(words));
}

static void add_signal(struct line *l, uint32_t sig) {
  static const char *const names[] = {
    "0",    "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
    "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
    "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "IO",   "PWR",  "SYS",
  };
  if (sig == 0 || sig >= COUNT_OF(names))
    add(l, "%d", (int32_t)sig);
  else
    add(l, "SIG%s", names[sig]);
}

static void add_fcntl(struct line *l, uint32_t command) {
  static const struct word words[] = {
    { 0, "F_DUPFD" },         { 1, "F_GETFD" },
    { 2, "F_SETFD" },         { 3, "F_GETFL" },
    { 4, "F_SETFL" },         { 12, "F_GETLK" },
    { 13, "F_SETLK" },        { 14, "F_SETLKW" },
    { 8, "F_SETOWN" },        { 9, "F_GETOWN" },
    { 36, "F_OFD_GETLK" },    { 37, "F_OFD_SETLK" },
    { 38, "F_OFD_SETLKW" },   { 1030, "F_DUPFD_CLOEXEC" },
    { 1031, "F_SETPIPE_SZ" }, { 1032, "F_GETPIPE_SZ" },
  };
  add_word(l, command, words, COUNT_OF(words));
}

static void add_ioctl(struct line *l, uint32_t request) {
  static const struct word words[] = {
    { 0x5401, "TCGETS" },    { 0x5402, "TCSETS" },    { 0x5403, "TCSETSW" },    { 0x5404, "TCSETSF" },
    { 0x540f, "TIOCGPGRP" }, { 0x5410, "TIOCSPGRP" }, { 0x5413, "TIOCGWINSZ" }, { 0x5414, "TIOCSWINSZ" },
    { 0x541b, "FIONREAD" },  { 0x5421, "FIONBIO" },   { 0x5429, "TIOCGSID" },   { 0x5450, "FIONCLEX" },
    { 0x5451, "FIOCLEX" },
  };
  add_word(l, request, words, COUNT_OF(words));
}

static void add_clock(struct line *l, uint32_t clock) {
  static const struct word words[] = {
    { 0, "CLOCK_REALTIME" },          { 1, "CLOCK_MONOTONIC" },     { 2, "CLOCK_PROCESS_CPUTIME_ID" },
    { 3, "CLOCK_THREAD_CPUTIME_ID" }, { 4, "CLOCK_MONOTONIC_RAW" }, { 5, "CLOCK_REALTIME_COARSE" },
    { 6, "CLOCK_MONOTONIC_COARSE" },  { 7, "CLOCK_BOOTTIME" },
  };
  add_word(l, clock, words, COUNT_OF(words));
}

static void add_whence(struct line *l, uint32_t whence) {
  static const struct word words[] = {
    { 0, "SEEK_SET" }, { 1, "SEEK_CUR" }, { 2, "SEEK_END" }, { 3, "SEEK_DATA" }, { 4, "SEEK_HOLE" },
  };
  add_word(l, whence, words, COUNT_OF(words));
}

/* ---- what pointers lead to ---- */

static void add_quoted(struct line *l, const uint8_t *bytes, size_t len, bool more) {
  add(l, "\"");
  for (size_t i = 0; i < len; i++) {
    uint8_t c = bytes[i];
    if (c == '"' || c == '\\')
      add(l, "\\%c", c);
    else if (c == '\n')
      add(l, "\\n");
    else if (c == '\t')
      add(l, "\\t");
    else if (c == '\r')
      add(l, "\\r");
    else if (c < 32 || c > 126)
      add(l, "\\x%02x", c);
    else
      add(l, "%c", c);
  }
  add(l, more ? "\"..." : "\"");
}

static void add_pointer(struct line *l, uint32_t addr) {
  if (addr == 0)
    add(l, "NULL");
  else
    add(l, "%#x", addr);
}

static void add_string(struct line *l, abi_machine *m, uint32_t addr) {
  const char *text = NULL;
  if (abi_string(m->instance, addr, &text) < 0) {
    add_pointer(l, addr);
    return;
  }
  enum { PATH_SHOWN = 256 };
  size_t len = strlen(text);
  add_quoted(l, (const uint8_t *)text, len < PATH_SHOWN ? len : PATH_SHOWN, len > PATH_SHOWN);
}

static void add_bytes(struct line *l, abi_machine *m, uint32_t addr, uint64_t len) {
  void *bytes = NULL;
  if (abi_ptr(m->instance, addr, len, &bytes) < 0)
    add_pointer(l, addr);
  else
    add_quoted(l, bytes, len < TEXT_SHOWN ? (size_t)len : TEXT_SHOWN, len > TEXT_SHOWN);
}

static void add_strings(struct line *l, abi_machine *m, uint32_t addr) {
  uint32_t text = 0;
  add(l, "[");
  for (uint32_t i = 0; addr != 0 && abi_get(m->instance, addr + 4 * i, &text) >= 0 && text != 0; i++) {
    if (i > 0) add(l, ", ");
    if (i == STRINGS_SHOWN) {
      add(l, "...");
      break;
    }
    add_string(l, m, text);
  }
  add(l, "]");
}

static void add_count(struct line *l, abi_machine *m, uint32_t addr) {
  uint32_t text = 0, count = 0;
  while (addr != 0 && count < 65536 && abi_get(m->instance, addr + 4 * count, &text) >= 0 && text != 0)
    count++;
  add(l, "/* %u strings */", count);
}

static void add_time(struct line *l, abi_machine *m, uint32_t addr) {
  struct g_timespec t;
  if (addr == 0 || abi_get(m->instance, addr, &t) < 0)
    add_pointer(l, addr);
  else
    add(l, "{%lld.%09u}", (long long)t.sec, (uint32_t)t.nsec);
}

static void add_fds(struct line *l, abi_machine *m, uint32_t addr) {
  int32_t fds[2];
  if (abi_get(m->instance, addr, &fds) < 0)
    add_pointer(l, addr);
  else
    add(l, "[%d, %d]", fds[0], fds[1]);
}

static void add_status(struct line *l, abi_machine *m, uint32_t addr) {
  int32_t status = 0;
  if (addr == 0 || abi_get(m->instance, addr, &status) < 0) {
    add_pointer(l, addr);
    return;
  }
  if ((status & 0x7f) == 0)
    add(l, "[exit %d]", status >> 8 & 0xff);
  else if ((status & 0xff) == 0x7f)
    add(l, "[stopped]");
  else {
    add(l, "[");
    add_signal(l, (uint32_t)status & 0x7f);
    add(l, "]");
  }
}

static void add_mask(struct line *l, abi_machine *m, uint32_t addr) {
  k_sigset set = 0;
  const char *between = "";
  if (addr == 0 || abi_get(m->instance, addr, &set) < 0) {
    add_pointer(l, addr);
    return;
  }
  if (__builtin_popcountll(set) > 16) {
    add(l, "~[%d others]", 64 - __builtin_popcountll(set));
    return;
  }
  add(l, "[");
  for (uint32_t sig = 1; sig <= K_NSIG; sig++) {
    if ((set >> (sig - 1) & 1) == 0) continue;
    add(l, "%s", between);
    add_signal(l, sig);
    between = " ";
  }
  add(l, "]");
}

/* Of what was read only as much as the call answered. */
static void add_buffers(struct line *l, abi_machine *m, uint32_t addr, uint32_t count, uint64_t len) {
  uint32_t v[2];
  add(l, "[");
  for (uint32_t i = 0; i < count && abi_get(m->instance, addr + 8 * i, &v) >= 0; i++) {
    if (i > 0) add(l, ", ");
    if (i == IOV_SHOWN || len == 0) {
      add(l, "...");
      break;
    }
    uint64_t part = v[1] < len ? v[1] : len;
    add_bytes(l, m, v[0], part);
    len -= part;
  }
  add(l, "]");
}

/* ---- one line ---- */

static void add_dirfd(struct line *l, uint32_t fd) {
  if ((int32_t)fd == ABI_AT_FDCWD)
    add(l, "AT_FDCWD");
  else
    add(l, "%d", (int32_t)fd);
}

/* Argument a[i], shown as `how` says. How many of the six it took. */
static int add_argument(struct line *l, abi_machine *m, char how, const uint32_t *a, int i,
                        const k_ret *result) {
  uint64_t moved = result != NULL && *result > 0 ? (uint64_t)*result : 0;
  bool failed = result != NULL && *result < 0;
  switch (how) {
  case 'u': add(l, "%u", a[i]); break;
  case 'x': add(l, a[i] != 0 ? "%#x" : "%u", a[i]); break;
  case 'o': add(l, "%#o", a[i]); break;
  case 'p': add_pointer(l, a[i]); break;
  case 'D': add_dirfd(l, a[i]); break;
  case 's': add_string(l, m, a[i]); break;
  case 'b': add_bytes(l, m, a[i], a[i + 1]); break;
  case 'r':
    if (failed)
      add_pointer(l, a[i]);
    else
      add_bytes(l, m, a[i], moved);
    break;
  case 'q': add(l, "%lld", (long long)abi_pair(a + i)); return 2;
  case 'O': add_open_flags(l, a[i]); break;
  case 'S': add_signal(l, a[i]); break;
  case 'a': add_at_flags(l, a[i]); break;
  case 'v': add_strings(l, m, a[i]); break;
  case 'n': add_count(l, m, a[i]); break;
  case 't': add_time(l, m, a[i]); break;
  case 'T':
    if (failed)
      add_pointer(l, a[i]);
    else
      add_time(l, m, a[i]);
    break;
  case 'V': add_buffers(l, m, a[i], a[i + 1], UINT64_MAX); break;
  case 'R': add_buffers(l, m, a[i], failed ? 0 : a[i + 1], moved); break;
  case 'P':
    if (failed)
      add_pointer(l, a[i]);
    else
      add_fds(l, m, a[i]);
    break;
  case 'w':
    if (moved == 0)
      add_pointer(l, a[i]);
    else
      add_status(l, m, a[i]);
    break;
  case 'c': add_fcntl(l, a[i]); break;
  case 'I': add_ioctl(l, a[i]); break;
  case 'L': add_clock(l, a[i]); break;
  case 'W': add_whence(l, a[i]); break;
  case 'm': add_mask(l, m, a[i]); break;
  default: add(l, "%d", (int32_t)a[i]); break;
  }
  return 1;
}

/* The mode of openat counts only when something is made. */
static bool is_idle_mode(const char *format, const uint32_t *a, int i) {
  return format[0] == 'o' && i > 0 && format[-1] == 'O' && (a[i - 1] & K_O_CREAT) == 0 &&
         (a[i - 1] & K_O_TMPFILE) != K_O_TMPFILE;
}

static void add_result(struct line *l, const k_ret *result) {
  if (result == NULL)
    add(l, " = ?");
  else if (*result == -K_ERESTART)
    add(l, " = ? ERESTARTSYS (to be repeated)");
  else if (*result < 0) {
    int error = *result == -K_EKILLED ? K_EINTR : (int)-*result;
    add(l, " = -1 %s (%s)", k_errno_name(error), k_errno_text(error));
  } else
    add(l, " = %lld", (long long)*result);
}

size_t abi_trace_format(abi_machine *m, int32_t pid, const abi_row *row, int32_t number, const uint32_t *a,
                        const k_ret *result, char *text, size_t cap) {
  struct line l = { .text = text, .cap = cap };
  add(&l, "[%d] ", pid);
  if (row == NULL)
    add(&l, "syscall_%d(%#x, %#x, %#x", number, a[0], a[1], a[2]);
  else
    add(&l, "%s(", row->name);
  int i = 0;
  for (const char *how = row != NULL ? row->format : ""; *how != 0 && i < 6; how++) {
    if (is_idle_mode(how, a, i)) break;
    if (i > 0) add(&l, ", ");
    i += add_argument(&l, m, *how, a, i, result);
  }
  add(&l, ")");
  add_result(&l, result);
  return l.len;
}

void abi_trace(abi_machine *m, int32_t pid, const abi_row *row, int32_t number, const uint32_t *a,
               const k_ret *result) {
  char text[2048];
  if (m->runner->options.trace == NULL) return;
  (void)abi_trace_format(m, pid, row, number, a, result, text, sizeof text);
  abi_trace_say(m->runner, text);
}

void abi_trace_text(abi_runner *runner, int32_t pid, const char *format, ...) {
  char text[512];
  struct line l = { .text = text, .cap = sizeof text };
  va_list args;
  if (runner->options.trace == NULL) return;
  add(&l, "[%d] ", pid);
  va_start(args, format);
  (void)vsnprintf(text + l.len, sizeof text - l.len, format, args);
  va_end(args);
  abi_trace_say(runner, text);
}

void abi_trace_say(abi_runner *runner, const char *text) {
  pthread_mutex_lock(&runner->trace_mu);
  runner->options.trace(runner->options.trace_ctx, text);
  pthread_mutex_unlock(&runner->trace_mu);
}
