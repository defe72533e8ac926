#include "host.h"

/* The libc's way to the host: it runs the handlers that are due, and repeats interrupted calls. */
long __cay_syscall(long n, long a, long b, long c, long d, long e, long f);

enum { SYS_callback = 2005, SYS_emit = 2006, SYS_callbacks = 2007 };

_Static_assert(sizeof(host_callback_call) == 36 && sizeof(void *) == 4, "the host reads it as nine words");

long host_callback(host_callback_call *q) { return __cay_syscall(SYS_callback, (long)q, 0, 0, 0, 0, 0); }

long host_emit(const host_event *e) {
  return __cay_syscall(SYS_emit, EMIT_TRACE, (long)e->line, (long)e->event, (long)e->event_len,
                       (long)e->context, (long)e->context_len);
}

long host_give(const void *data, size_t len) {
  return __cay_syscall(SYS_emit, EMIT_BYTES, 0, (long)data, (long)len, 0, 0);
}

long host_display(const void *bundle, size_t len) {
  return __cay_syscall(SYS_emit, EMIT_DISPLAY, 0, (long)bundle, (long)len, 0, 0);
}

long host_callbacks(char *out, size_t cap) {
  return __cay_syscall(SYS_callbacks, (long)out, (long)cap, 0, 0, 0, 0);
}
