/* stdio.c - the loop of the JSON-RPC server over two descriptors. */
#include "base/error.h"
#include "serve/line.h"
#include "serve/server.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static cay_status answer_lines(server *s, line_reader *reader, cay_error *err) {
  for (;;) {
    char *data;
    size_t len;
    switch (line_next(reader, &data, &len)) {
    case LINE_READY:
      if (!server_line(s, data, len)) return CAY_OK;
      break;
    case LINE_TOO_LONG: server_line_too_long(s); break;
    case LINE_END: server_finish(s, reader->parent_fd); return CAY_OK;
    case LINE_GONE: return CAY_OK;
    case LINE_FAILED: return err_set(err, CAY_IO, "cannot read requests");
    case LINE_NO_MEMORY: return err_no_memory(err);
    }
    if (s->out.broken) return CAY_OK;
  }
}

/* Readable when the process that started us is gone, even if another one still holds our input open. */
static int watch_parent(void) {
  pid_t parent = getppid();
  return parent > 1 ? (int)syscall(SYS_pidfd_open, parent, 0) : -1;
}

cay_status serve_stdio(const serve_options *options, cay_error *err) {
  server s;
  (void)signal(SIGPIPE, SIG_IGN);
  S_TRY(server_open(&s, options, err));
  int parent = watch_parent();
  line_reader reader;
  line_reader_init(&reader, options->in, parent, options->out, s.options.line_max);
  server_log(&s, CAY_LOG_INFO, "cay %s answers JSON-RPC", cay_version());
  cay_status status = answer_lines(&s, &reader, err);
  server_log(&s, CAY_LOG_INFO, "the end");
  server_close(&s);
  line_reader_free(&reader);
  if (parent >= 0) close(parent);
  return status;
}
