/* rpc_dispatch.c - lines of any bytes to a JSON-RPC server, with a stand-in for the sandbox: every reply is a
 * line of JSON that is a response or a notification, nothing is left over, and the server ends. */
#include "serve/line.h"
#include "serve/server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { LINE_MOST = 4096 };

static void must(bool fact) {
  if (!fact) abort();
}

static int file_of(const uint8_t *data, size_t len) {
  int fd = memfd_create("rpc", MFD_CLOEXEC);
  must(fd >= 0 && write(fd, data, len) == (ssize_t)len && lseek(fd, 0, SEEK_SET) == 0);
  return fd;
}

static void feed(server *s, int in) {
  line_reader reader;
  line_reader_init(&reader, in, -1, -1, LINE_MOST);
  char *line;
  size_t len;
  for (;;) {
    enum line_kind kind = line_next(&reader, &line, &len);
    must(kind != LINE_READY || len <= LINE_MOST);
    if (kind == LINE_TOO_LONG) server_line_too_long(s);
    if (kind == LINE_END || (kind == LINE_READY && !server_line(s, line, len))) break;
  }
  line_reader_free(&reader);
}

static void check_reply(const char *line, size_t len) {
  yyjson_doc *doc = yyjson_read(line, len, YYJSON_READ_BIGNUM_AS_RAW);
  yyjson_val *root = yyjson_doc_get_root(doc);
  must(yyjson_equals_str(yyjson_obj_get(root, "jsonrpc"), "2.0"));
  bool is_result = yyjson_obj_get(root, "result") != NULL, is_error = yyjson_obj_get(root, "error") != NULL;
  bool is_answer = is_result != is_error && yyjson_obj_get(root, "id") != NULL;
  must(is_answer || yyjson_equals_str(yyjson_obj_get(root, "method"), "run.output"));
  yyjson_doc_free(doc);
}

static void check_replies(int out) {
  off_t len = lseek(out, 0, SEEK_END);
  char *all = malloc((size_t)len + 1), *end;
  must(all != NULL && pread(out, all, (size_t)len, 0) == len);
  all[len] = '\0';
  for (char *line = all; line < all + len; line = end + 1) {
    end = memchr(line, '\n', (size_t)(all + len - line));
    must(end != NULL);
    check_reply(line, (size_t)(end - line));
  }
  free(all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  int in = file_of(data, len), out = file_of(NULL, 0);
  server s;
  cay_error err;
  serve_options options = { .in = in, .out = out, .line_max = LINE_MOST };
  must(server_open(&s, &options, &err) == CAY_OK);
  feed(&s, in);
  server_close(&s);
  check_replies(out);
  close(in);
  close(out);
  return 0;
}
