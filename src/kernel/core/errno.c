/* errno.c - names, texts and statuses of errors, and their numbers from those of the host, all from
 * errno.def (errno.h). */
#include "kernel/core/errno.h"

#include <errno.h>

const char *k_errno_name(int number) {
  switch (number) {
#define E(name, linux_number, wasi, status, text)                                                            \
  case linux_number: return "E" #name;
#include "kernel/core/errno.def"
#undef E
  case K_ERESTART: return "ERESTARTSYS";
  case K_EKILLED: return "EKILLED";
  default: return "E?";
  }
}

const char *k_errno_text(int number) {
  switch (number) {
#define E(name, linux_number, wasi, status, text)                                                            \
  case linux_number: return text;
#include "kernel/core/errno.def"
#undef E
  default: return "unknown error";
  }
}

cay_status k_errno_status(int number) {
  switch (number) {
#define E(name, linux_number, wasi, status, text)                                                            \
  case linux_number: return status;
#include "kernel/core/errno.def"
#undef E
  case K_ERESTART:
  case K_EKILLED: return CAY_CANCELLED;
  default: return CAY_IO;
  }
}

int k_errno_from_host(int host_errno) {
  switch (host_errno) {
#define E(name, linux_number, wasi, status, text)                                                            \
  case E##name: return linux_number;
#include "kernel/core/errno.def"
#undef E
  default: return K_EIO;
  }
}
