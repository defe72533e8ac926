/* host.h - what this program asks of the host that runs it, beside the system calls of Linux. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A question to the embedder. In wasm every member is a word of 32 bits. */
typedef struct {
  const char *name;
  size_t name_len;
  const char *args;
  size_t args_len;
  char *reply;
  size_t reply_cap;
  uint32_t status; /* out: one of the three below */
  uint32_t len;    /* out: of the whole answer */
  int32_t fd;      /* out: -1, or where the answer is to be read: a byte of status, the answer, end of file */
} host_callback_call;

enum { ASK_ANSWERED = 0, ASK_REFUSED = 1, ASK_PENDING = 2 };
enum { HOST_PIECE_MAX = 1 << 20 };
enum { EMIT_TRACE = 1, EMIT_BYTES = 2, EMIT_DISPLAY = 3 };

typedef struct {
  uint32_t line;
  const char *event, *context; /* JSON */
  size_t event_len, context_len;
} host_event;

/* All answer 0 or more, or -errno. */
long host_callback(host_callback_call *q);    /* -ENOENT: no callback of that name */
long host_emit(const host_event *e);          /* -ENOSPC: enough was traced */
long host_give(const void *data, size_t len); /* a piece of saved variables, at most HOST_PIECE_MAX bytes */
/* A MIME bundle. -ENOENT: the embedder takes none; -ENOSPC: enough was displayed; -E2BIG */
long host_display(const void *bundle, size_t len);
long host_callbacks(char *out, size_t cap); /* the whole length of the list of callbacks, as JSON */
