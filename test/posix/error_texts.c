/* error_texts - strerror(3) and strsignal(3): programs and people search for these texts. */
#include "posix.h"

#include <string.h>

int main(void) {
  static const int errors[] = {
    0,         EPERM,        ENOENT,   EINTR,     EIO,          EBADF,       ECHILD,  ENOMEM,
    EACCES,    EBUSY,        EEXIST,   EXDEV,     ENOTDIR,      EISDIR,      EINVAL,  EMFILE,
    ENOTTY,    ETXTBSY,      EFBIG,    ENOSPC,    ESPIPE,       EROFS,       EPIPE,   EDOM,
    ERANGE,    ENAMETOOLONG, ENOSYS,   ENOTEMPTY, ELOOP,        EILSEQ,      ENOTSUP, EADDRINUSE,
    ETIMEDOUT, ECONNREFUSED, ENOTCONN, EOVERFLOW, EHOSTUNREACH, EINPROGRESS, 12345,   -7
  };
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) say("%d %s\n", errors[i], strerror(errors[i]));
  for (int i = 1; i <= SIGSYS; i++) say("%d %s\n", i, strsignal(i));
  TEXT(strsignal(0));
  TEXT(strsignal(99));
  TEXT(strsignal(SIGRTMIN + 2));
  char text[64];
  IS(strerror_r(ENOENT, text, sizeof text) != 0 || strcmp(text, strerror(ENOENT)) == 0);
  return 0;
}
