/* trace.c - one readable line per system call, as strace(1) writes it, from the format column of
 * syscalls.def. */
#include "abi/linux/layout.h"
#include "abi/linux/machine.h"
#include "abi/linux/runner_inner.h"
#include "abi/linux/trace_line.h"

#include <stdarg.h>
#include <stdio.h>

enum { TEXT_SHOWN = 32, STRINGS_SHOWN = 8, IOV_SHOWN = 4 };

/* ---- what pointers lead to ---- */

static void add_quoted(struct line *l, const uint8_t *bytes, size_t len, bool more) {
  abi_line_add(l, "\"");
  for (size_t i = 0; i < len; i++) {
    uint8_t c = bytes[i];
    if (c == '"' || c == '\\')
      abi_line_add(l, "\\%c", c);
    else if (c == '\n')
      abi_line_add(l, "\\n");
    else if (c == '\t')
      abi_line_add(l, "\\t");
    else if (c == '\r')
      abi_line_add(l, "\\r");
    else if (c < 32 || c > 126)
      abi_line_add(l, "\\x%02x", c);
    else
      abi_line_add(l, "%c", c);
  }
  abi_line_add(l, more ? "\"..." : "\"");
}

static void add_pointer(struct line *l, uint32_t addr) {
  if (addr == 0)
    abi_line_add(l, "NULL");
  else
    abi_line_add(l, "%#x", addr);
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
  abi_line_add(l, "[");
  for (uint32_t i = 0; addr != 0 && abi_get(m->instance, addr + 4 * i, &text) >= 0 && text != 0; i++) {
    if (i > 0) abi_line_add(l, ", ");
    if (i == STRINGS_SHOWN) {
      abi_line_add(l, "...");
      break;
    }
    add_string(l, m, text);
  }
  abi_line_add(l, "]");
}

static void add_count(struct line *l, abi_machine *m, uint32_t addr) {
  uint32_t text = 0, count = 0;
  while (addr != 0 && count < 65536 && abi_get(m->instance, addr + 4 * count, &text) >= 0 && text != 0)
    count++;
  abi_line_add(l, "/* %u strings */", count);
}

static void add_time(struct line *l, abi_machine *m, uint32_t addr) {
  struct g_timespec t;
  if (addr == 0 || abi_get(m->instance, addr, &t) < 0)
    add_pointer(l, addr);
  else
    abi_line_add(l, "{%lld.%09u}", (long long)t.sec, (uint32_t)t.nsec);
}

static void add_fds(struct line *l, abi_machine *m, uint32_t addr) {
  int32_t fds[2];
  if (abi_get(m->instance, addr, &fds) < 0)
    add_pointer(l, addr);
  else
    abi_line_add(l, "[%d, %d]", fds[0], fds[1]);
}

static void add_status(struct line *l, abi_machine *m, uint32_t addr) {
  int32_t status = 0;
  if (addr == 0 || abi_get(m->instance, addr, &status) < 0) {
    add_pointer(l, addr);
    return;
  }
  if ((status & 0x7f) == 0)
    abi_line_add(l, "[exit %d]", status >> 8 & 0xff);
  else if ((status & 0xff) == 0x7f)
    abi_line_add(l, "[stopped]");
  else {
    abi_line_add(l, "[");
    abi_line_signal(l, (uint32_t)status & 0x7f);
    abi_line_add(l, "]");
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
    abi_line_add(l, "~[%d others]", 64 - __builtin_popcountll(set));
    return;
  }
  abi_line_add(l, "[");
  for (uint32_t sig = 1; sig <= K_NSIG; sig++) {
    if ((set >> (sig - 1) & 1) == 0) continue;
    abi_line_add(l, "%s", between);
    abi_line_signal(l, sig);
    between = " ";
  }
  abi_line_add(l, "]");
}

static void add_action(struct line *l, abi_machine *m, uint32_t addr) {
  static const struct word handlers[] = { { K_SIG_DFL, "SIG_DFL" }, { K_SIG_IGN, "SIG_IGN" } };
  static const struct word flags[] = {
    { K_SA_NOCLDSTOP, "SA_NOCLDSTOP" }, { K_SA_NOCLDWAIT, "SA_NOCLDWAIT" }, { K_SA_SIGINFO, "SA_SIGINFO" },
    { K_SA_ONSTACK, "SA_ONSTACK" },     { K_SA_RESTART, "SA_RESTART" },     { K_SA_NODEFER, "SA_NODEFER" },
    { K_SA_RESETHAND, "SA_RESETHAND" }, { 0x04000000, "SA_RESTORER" },
  };
  struct g_sigaction action;
  if (addr == 0 || abi_get(m->instance, addr, &action) < 0) {
    add_pointer(l, addr);
    return;
  }
  abi_line_add(l, "{");
  abi_line_word(l, action.handler, handlers, COUNT_OF(handlers));
  abi_line_add(l, ", ");
  abi_line_bits(l, action.flags, flags, COUNT_OF(flags));
  abi_line_add(l, "}");
}

static void add_stat(struct line *l, abi_machine *m, uint32_t addr) {
  static const struct word types[] = {
    { K_S_IFREG, "S_IFREG" }, { K_S_IFDIR, "S_IFDIR" }, { K_S_IFLNK, "S_IFLNK" },   { K_S_IFCHR, "S_IFCHR" },
    { K_S_IFBLK, "S_IFBLK" }, { K_S_IFIFO, "S_IFIFO" }, { K_S_IFSOCK, "S_IFSOCK" },
  };
  struct g_statx st;
  if (abi_get(m->instance, addr, &st) < 0) {
    add_pointer(l, addr);
    return;
  }
  abi_line_add(l, "{");
  abi_line_word(l, st.mode & K_S_IFMT, types, COUNT_OF(types));
  abi_line_add(l, "|%#o, size %llu}", st.mode & 07777u, (unsigned long long)st.size);
}

/* Shows only as many bytes as the call returned. */
static void add_buffers(struct line *l, abi_machine *m, uint32_t addr, uint32_t count, uint64_t len) {
  uint32_t v[2];
  abi_line_add(l, "[");
  for (uint32_t i = 0; i < count && abi_get(m->instance, addr + 8 * i, &v) >= 0; i++) {
    if (i > 0) abi_line_add(l, ", ");
    if (i == IOV_SHOWN || len == 0) {
      abi_line_add(l, "...");
      break;
    }
    uint64_t part = v[1] < len ? v[1] : len;
    add_bytes(l, m, v[0], part);
    len -= part;
  }
  abi_line_add(l, "]");
}

/* ---- one line ---- */

static void add_dirfd(struct line *l, uint32_t fd) {
  if ((int32_t)fd == ABI_AT_FDCWD)
    abi_line_add(l, "AT_FDCWD");
  else
    abi_line_add(l, "%d", (int32_t)fd);
}

/* Argument a[i], shown as `how` says. How many of the six it took. */
static int add_argument(struct line *l, abi_machine *m, char how, const uint32_t *a, int i,
                        const k_ret *result) {
  uint64_t moved = result != NULL && *result > 0 ? (uint64_t)*result : 0;
  bool failed = result != NULL && *result < 0;
  switch (how) {
  case 'u': abi_line_add(l, "%u", a[i]); break;
  case 'x': abi_line_add(l, a[i] != 0 ? "%#x" : "%u", a[i]); break;
  case 'o': abi_line_add(l, "%#o", a[i]); break;
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
  case 'q': abi_line_add(l, "%lld", (long long)abi_pair(a + i)); return 2;
  case 'O': abi_line_open_flags(l, a[i]); break;
  case 'S': abi_line_signal(l, a[i]); break;
  case 'a': abi_line_at_flags(l, a[i]); break;
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
  case 'e': abi_line_fd_flags(l, a[i]); break;
  case 'A': abi_line_access(l, a[i]); break;
  case 'E': abi_line_access_flags(l, a[i]); break;
  case 'h': abi_line_how(l, a[i]); break;
  case 'k': add_action(l, m, a[i]); break;
  case 'K':
    if (failed)
      add_pointer(l, a[i]);
    else
      add_action(l, m, a[i]);
    break;
  case 'X':
    if (failed)
      add_pointer(l, a[i]);
    else
      add_stat(l, m, a[i]);
    break;
  case 'c': abi_line_fcntl(l, a[i]); break;
  case 'I': abi_line_ioctl(l, a[i]); break;
  case 'L': abi_line_clock(l, a[i]); break;
  case 'W': abi_line_whence(l, a[i]); break;
  case 'm': add_mask(l, m, a[i]); break;
  default: abi_line_add(l, "%d", (int32_t)a[i]); break;
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
    abi_line_add(l, " = ?");
  else if (*result == -K_ERESTART)
    abi_line_add(l, " = ? ERESTARTSYS (to be repeated)");
  else if (*result < 0) {
    int error = *result == -K_EKILLED ? K_EINTR : (int)-*result;
    abi_line_add(l, " = -1 %s (%s)", k_errno_name(error), k_errno_text(error));
  } else
    abi_line_add(l, " = %lld", (long long)*result);
}

size_t abi_trace_format(abi_machine *m, int32_t pid, const abi_row *row, int32_t number, const uint32_t *a,
                        const k_ret *result, char *text, size_t cap) {
  struct line l = { .text = text, .cap = cap };
  abi_line_add(&l, "[%d] ", pid);
  if (row == NULL)
    abi_line_add(&l, "syscall_%d(%#x, %#x, %#x", number, a[0], a[1], a[2]);
  else
    abi_line_add(&l, "%s(", row->name);
  int i = 0;
  for (const char *how = row != NULL ? row->format : ""; *how != 0 && i < 6; how++) {
    if (is_idle_mode(how, a, i)) break;
    if (i > 0) abi_line_add(&l, ", ");
    i += add_argument(&l, m, *how, a, i, result);
  }
  abi_line_add(&l, ")");
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
  abi_line_add(&l, "[%d] ", pid);
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
