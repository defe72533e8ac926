/* trace_words.c - numbers of system calls as the words that programmers know. */
#include "abi/linux/trace_line.h"
#include "kernel/file/file.h"
#include "kernel/signal/signal.h"

#include <stdarg.h>
#include <stdio.h>

void abi_line_add(struct line *l, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(l->text + l->len, l->cap - l->len, format, args);
  va_end(args);
  if (n > 0) l->len += (size_t)n < l->cap - l->len ? (size_t)n : l->cap - l->len - 1;
}

/* All words whose bits are set, then the remaining bits. */
void abi_line_bits(struct line *l, uint32_t value, const struct word *words, size_t count) {
  const char *between = "";
  for (size_t i = 0; i < count; i++) {
    if (words[i].bits == 0 || (value & words[i].bits) != words[i].bits) continue;
    abi_line_add(l, "%s%s", between, words[i].name);
    value &= ~words[i].bits;
    between = "|";
  }
  if (value != 0)
    abi_line_add(l, "%s%#x", between, value);
  else if (*between == 0)
    abi_line_add(l, "0");
}

void abi_line_word(struct line *l, uint32_t value, const struct word *words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (words[i].bits != value) continue;
    abi_line_add(l, "%s", words[i].name);
    return;
  }
  abi_line_add(l, "%#x", value);
}

void abi_line_open_flags(struct line *l, uint32_t flags) {
  static const char *const access[] = { "O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE" };
  static const struct word words[] = {
    { K_O_CREAT, "O_CREAT" },         { K_O_EXCL, "O_EXCL" },           { K_O_NOCTTY, "O_NOCTTY" },
    { K_O_TRUNC, "O_TRUNC" },         { K_O_APPEND, "O_APPEND" },       { K_O_NONBLOCK, "O_NONBLOCK" },
    { K_O_SYNC, "O_SYNC" },           { K_O_DSYNC, "O_DSYNC" },         { K_O_DIRECT, "O_DIRECT" },
    { K_O_TMPFILE, "O_TMPFILE" },     { K_O_DIRECTORY, "O_DIRECTORY" }, { K_O_NOFOLLOW, "O_NOFOLLOW" },
    { K_O_LARGEFILE, "O_LARGEFILE" }, { K_O_NOATIME, "O_NOATIME" },     { K_O_CLOEXEC, "O_CLOEXEC" },
    { K_O_PATH, "O_PATH" },
  };
  abi_line_add(l, "%s", access[flags & K_O_ACCMODE]);
  flags &= ~(uint32_t)K_O_ACCMODE;
  if (flags == 0) return;
  abi_line_add(l, "|");
  abi_line_bits(l, flags, words, COUNT_OF(words));
}

/* Where only some open flags are possible, and no access mode. */
void abi_line_fd_flags(struct line *l, uint32_t flags) {
  static const struct word words[] = { { K_O_NONBLOCK, "O_NONBLOCK" },
                                       { K_O_CLOEXEC, "O_CLOEXEC" },
                                       { K_O_DIRECT, "O_DIRECT" } };
  abi_line_bits(l, flags, words, COUNT_OF(words));
}

void abi_line_access(struct line *l, uint32_t mode) {
  static const struct word words[] = { { 4, "R_OK" }, { 2, "W_OK" }, { 1, "X_OK" } };
  if (mode == 0)
    abi_line_add(l, "F_OK");
  else
    abi_line_bits(l, mode, words, COUNT_OF(words));
}

void abi_line_access_flags(struct line *l, uint32_t flags) {
  static const struct word words[] = { { 0x100, "AT_SYMLINK_NOFOLLOW" },
                                       { 0x200, "AT_EACCESS" },
                                       { 0x1000, "AT_EMPTY_PATH" } };
  abi_line_bits(l, flags, words, COUNT_OF(words));
}

void abi_line_how(struct line *l, uint32_t how) {
  static const struct word words[] = { { 0, "SIG_BLOCK" }, { 1, "SIG_UNBLOCK" }, { 2, "SIG_SETMASK" } };
  abi_line_word(l, how, words, COUNT_OF(words));
}

void abi_line_at_flags(struct line *l, uint32_t flags) {
  static const struct word words[] = {
    { 0x100, "AT_SYMLINK_NOFOLLOW" }, { 0x200, "AT_REMOVEDIR" },   { 0x400, "AT_SYMLINK_FOLLOW" },
    { 0x800, "AT_NO_AUTOMOUNT" },     { 0x1000, "AT_EMPTY_PATH" },
  };
  abi_line_bits(l, flags, words, COUNT_OF(words));
}

void abi_line_signal(struct line *l, uint32_t sig) {
  static const char *const names[] = {
    "0",    "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
    "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
    "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "IO",   "PWR",  "SYS",
  };
  if (sig == 0 || sig >= COUNT_OF(names))
    abi_line_add(l, "%d", (int32_t)sig);
  else
    abi_line_add(l, "SIG%s", names[sig]);
}

void abi_line_fcntl(struct line *l, uint32_t command) {
  static const struct word words[] = {
    { 0, "F_DUPFD" },         { 1, "F_GETFD" },         { 2, "F_SETFD" },
    { 3, "F_GETFL" },         { 4, "F_SETFL" },         { 12, "F_GETLK" },
    { 13, "F_SETLK" },        { 14, "F_SETLKW" },       { 8, "F_SETOWN" },
    { 9, "F_GETOWN" },        { 10, "F_SETSIG" },       { 11, "F_GETSIG" },
    { 15, "F_SETOWN_EX" },    { 16, "F_GETOWN_EX" },    { 36, "F_OFD_GETLK" },
    { 37, "F_OFD_SETLK" },    { 38, "F_OFD_SETLKW" },   { 1030, "F_DUPFD_CLOEXEC" },
    { 1031, "F_SETPIPE_SZ" }, { 1032, "F_GETPIPE_SZ" },
  };
  abi_line_word(l, command, words, COUNT_OF(words));
}

void abi_line_ioctl(struct line *l, uint32_t request) {
  static const struct word words[] = {
    { 0x5401, "TCGETS" },         { 0x5402, "TCSETS" },         { 0x5403, "TCSETSW" },
    { 0x5404, "TCSETSF" },        { 0x5409, "TCSBRK" },         { 0x540a, "TCXONC" },
    { 0x540b, "TCFLSH" },         { 0x540e, "TIOCSCTTY" },      { 0x5411, "TIOCOUTQ" },
    { 0x5422, "TIOCNOTTY" },      { 0x5425, "TCSBRKP" },        { 0x80045430, "TIOCGPTN" },
    { 0x40045431, "TIOCSPTLCK" }, { 0x80045439, "TIOCGPTLCK" }, { 0x40045436, "TIOCSIG" },
    { 0x540f, "TIOCGPGRP" },      { 0x5410, "TIOCSPGRP" },      { 0x5413, "TIOCGWINSZ" },
    { 0x5414, "TIOCSWINSZ" },     { 0x541b, "FIONREAD" },       { 0x5421, "FIONBIO" },
    { 0x5429, "TIOCGSID" },       { 0x5450, "FIONCLEX" },       { 0x5451, "FIOCLEX" },
  };
  abi_line_word(l, request, words, COUNT_OF(words));
}

void abi_line_clock(struct line *l, uint32_t clock) {
  static const struct word words[] = {
    { 0, "CLOCK_REALTIME" },          { 1, "CLOCK_MONOTONIC" },     { 2, "CLOCK_PROCESS_CPUTIME_ID" },
    { 3, "CLOCK_THREAD_CPUTIME_ID" }, { 4, "CLOCK_MONOTONIC_RAW" }, { 5, "CLOCK_REALTIME_COARSE" },
    { 6, "CLOCK_MONOTONIC_COARSE" },  { 7, "CLOCK_BOOTTIME" },
  };
  abi_line_word(l, clock, words, COUNT_OF(words));
}

void abi_line_whence(struct line *l, uint32_t whence) {
  static const struct word words[] = {
    { 0, "SEEK_SET" }, { 1, "SEEK_CUR" }, { 2, "SEEK_END" }, { 3, "SEEK_DATA" }, { 4, "SEEK_HOLE" },
  };
  abi_line_word(l, whence, words, COUNT_OF(words));
}
