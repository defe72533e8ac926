/* orders.c - what to clone and from where, as JSON on standard input. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "git/git.h"

#include <string.h>
#include <unistd.h>

enum { ORDERS_MAX = 4 << 20 };

static cay_status orders_load(int fd, buf *text, cay_error *err) {
  for (;;) {
    void *room = buf_room(text, 65536);
    if (room == NULL) return err_set(err, CAY_LIMIT, "orders: too long");
    ssize_t got = read(fd, room, 65536);
    if (got < 0) return err_set(err, CAY_IO, "orders: cannot be read");
    if (got == 0) return CAY_OK;
    buf_grew(text, (size_t)got);
  }
}

static char *orders_text(yyjson_val *root, const char *name) {
  const char *text = yyjson_get_str(yyjson_obj_get(root, name));
  return text != NULL ? mem_strdup(text) : NULL;
}

static cay_status orders_take(yyjson_val *root, orders *o, cay_error *err) {
  o->url = orders_text(root, "url");
  o->branch = orders_text(root, "branch");
  o->commit = orders_text(root, "commit");
  o->files = orders_text(root, "files");
  o->credentials = orders_text(root, "credentials");
  o->ca_file = orders_text(root, "caFile");
  o->folder = orders_text(root, "folder");
  o->bytes_max = yyjson_get_uint(yyjson_obj_get(root, "maxBytes"));
  o->timeout_ms = yyjson_get_uint(yyjson_obj_get(root, "timeoutMs"));
  o->depth = (uint32_t)yyjson_get_uint(yyjson_obj_get(root, "depth"));
  o->deadline_ns = clock_mono_ns() + (int64_t)o->timeout_ms * NS_PER_MS;
  if (o->url == NULL) return err_set(err, CAY_INVALID, "orders: no url");
  if (o->folder == NULL) return err_set(err, CAY_INVALID, "orders: no folder");
  yyjson_val *network = yyjson_obj_get(root, "network");
  return network != NULL ? net_policy_read(network, "network", &o->policy, err) : CAY_OK;
}

cay_status orders_read(int fd, orders *out, cay_error *err) {
  OWNED(buf_free) buf text = BUF_INIT(ORDERS_MAX);
  S_TRY(orders_load(fd, &text, err));
  yyjson_doc *doc = yyjson_read_opts((char *)text.data, text.len, 0, &JSON_ALLOC, NULL);
  if (doc == NULL) return err_set(err, CAY_INVALID, "orders: not JSON");
  cay_status status = orders_take(yyjson_doc_get_root(doc), out, err);
  yyjson_doc_free(doc);
  return status;
}
