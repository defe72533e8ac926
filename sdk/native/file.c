/* file.c - contents of files as bytes, past the JSON of requests. */
#include "exchange.h"


#include <string.h>

/* With call_mu. */
static cay_sandbox *sandbox_named(native *n, const char *name, cay_error *err) {
  if (n->open) {
    LIST_EACH (b, &n->server.boxes, serve_box, in_server) {
      if (strcmp(b->name, name) == 0) return b->sandbox;
    }
  }
  *err = (cay_error){ .status = CAY_NOT_FOUND, .message = "ENXIO: there is no such sandbox" };
  return NULL;
}

int native_refusal(const cay_error *err, call *c) {
  fail_status(c, err);
  return c->code;
}

static cay_status write_file(cay_sandbox *box, const native_file *f, cay_error *err) {
  cay_slice bytes = { f->data, f->data_len };
  if (!f->part) return cay_file_write(box, f->path, bytes, f->mode, err);
  cay_status status = cay_file_write_at(box, f->path, f->offset, bytes, err);
  if (status != CAY_NOT_FOUND) return status;
  status = cay_file_write(box, f->path, (cay_slice){ 0 }, f->mode, err);
  return status == CAY_OK ? cay_file_write_at(box, f->path, f->offset, bytes, err) : status;
}

cay_status native_file_write(native *n, const native_file *f, cay_error *err) {
  pthread_mutex_lock(&n->call_mu);
  cay_sandbox *box = sandbox_named(n, f->sandbox, err);
  cay_status status = box != NULL ? write_file(box, f, err) : CAY_NOT_FOUND;
  pthread_mutex_unlock(&n->call_mu);
  return status;
}

cay_status native_file_read(native *n, const native_file *f, char *to, size_t *len, cay_error *err) {
  cay_stat st;
  pthread_mutex_lock(&n->call_mu);
  cay_sandbox *box = sandbox_named(n, f->sandbox, err);
  cay_status status = box != NULL ? CAY_OK : CAY_NOT_FOUND;
  if (status == CAY_OK && to != NULL) status = cay_file_read_at(box, f->path, f->offset, to, *len, len, err);
  if (status == CAY_OK && to == NULL) status = cay_file_stat(box, f->path, &st, err);
  pthread_mutex_unlock(&n->call_mu);
  if (status == CAY_OK && to == NULL && (st.len < f->offset || st.len - f->offset < *len))
    *len = st.len > f->offset ? (size_t)(st.len - f->offset) : 0;
  return status;
}
