/* method_cache.c - ListCache and ClearCache. */
#include "grpc/service/inner.h"

void method_list_cache(void *app, call *c, cay_slice message) {
  service *s = app;
  request r;
  cay_error err;
  if (!request_read(c, message, REQUEST_FILTER, &r)) return;
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  cay_status status = store_cache_list(s->options.store, r.filter, 1, &w, &err);
  if (status == CAY_OK) {
    call_answer(c, &w);
    return;
  }
  buf_free(&w.out);
  answer_error(c, status, &err);
}

void method_clear_cache(void *app, call *c, cay_slice message) {
  service *s = app;
  request r;
  cay_error err;
  int64_t deleted = 0;
  if (!request_read(c, message, REQUEST_EMPTY, &r)) return;
  cay_status status = store_cache_clear(s->options.store, &deleted, &err);
  if (status != CAY_OK) return answer_error(c, status, &err);
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  pb_put_int(&w, 1, deleted);
  call_answer(c, &w);
}
