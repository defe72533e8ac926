/* requests.c - the thread that reads requests, one after the other. */
#include "addon.h"

#include "base/alloc.h"

#include <string.h>

enum { AT_LEAST = 4096 }; /* bytes to ask for: a size of 0 may be that of a file of /proc */

void request_free(request *r) {
  if (r == NULL) return;
  mem_free(r->sandbox);
  mem_free(r->path);
  mem_free(r->data);
  mem_free(r);
}

/* ---- files ---- */

static void item_set_refusal(native_item *item, const cay_error *err) {
  call c = { 0 };
  item->code = native_refusal(err, &c);
  item->line = mem_strdup(c.why);
  item->len = item->line != NULL ? strlen(item->line) : 0;
}

static cay_status item_read(native *n, const native_file *f, size_t most, native_item *item, cay_error *err) {
  size_t len = most;
  S_TRY(native_file_read(n, f, NULL, &len, err));
  if (len < AT_LEAST) len = most < AT_LEAST ? most : AT_LEAST;
  char *to = mem_alloc(len + 1);
  if (to == NULL) {
    *err = (cay_error){ .status = CAY_NO_MEMORY, .message = "out of memory" };
    return CAY_NO_MEMORY;
  }
  cay_status status = native_file_read(n, f, to, &len, err);
  if (status != CAY_OK) {
    mem_free(to);
    return status;
  }
  item->line = to;
  item->len = len;
  return CAY_OK;
}

static void request_do_file(addon_server *s, const request *r) {
  cay_error err = { 0 };
  native_file f = { .sandbox = r->sandbox,
                    .path = r->path,
                    .data = r->data,
                    .data_len = r->len,
                    .offset = r->offset,
                    .mode = r->mode,
                    .part = r->part };
  native_item *item = native_item_new(NATIVE_FILE, r->number);
  if (item == NULL) return; /* as every answer that there is no memory for */
  cay_status status = r->kind == REQUEST_READ ? item_read(s->native, &f, r->len, item, &err)
                                              : native_file_write(s->native, &f, &err);
  if (status != CAY_OK) item_set_refusal(item, &err);
  native_queue_put(s->native, item);
}

/* ---- the thread ---- */

/* NULL: the end. */
static request *requests_take(addon_server *s) {
  request *r = NULL;
  pthread_mutex_lock(&s->mu);
  s->busy = false;
  while (list_empty(&s->requests) && !s->ending) pthread_cond_wait(&s->given, &s->mu);
  if (!s->ending) {
    r = CONTAINER_OF(s->requests.next, request, in_line);
    list_remove(&r->in_line);
    s->busy = true;
  }
  pthread_mutex_unlock(&s->mu);
  return r;
}

static void *requests_run(void *ctx) {
  addon_server *s = ctx;
  for (request *r; (r = requests_take(s)) != NULL;) {
    if (r->kind == REQUEST_LINE)
      native_line(s->native, r->data, r->len);
    else
      request_do_file(s, r);
    request_free(r);
  }
  return NULL;
}

bool requests_put(addon_server *s, request *r) {
  if (!s->has_thread) s->has_thread = pthread_create(&s->thread, NULL, requests_run, s) == 0;
  if (!s->has_thread) {
    request_free(r);
    return false;
  }
  pthread_mutex_lock(&s->mu);
  list_push(&s->requests, &r->in_line);
  pthread_cond_signal(&s->given);
  pthread_mutex_unlock(&s->mu);
  return true;
}

bool requests_idle(addon_server *s) {
  pthread_mutex_lock(&s->mu);
  bool idle = list_empty(&s->requests) && !s->busy;
  pthread_mutex_unlock(&s->mu);
  return idle;
}

void requests_end(addon_server *s) {
  pthread_mutex_lock(&s->mu);
  s->ending = true;
  pthread_cond_signal(&s->given);
  pthread_mutex_unlock(&s->mu);
  if (s->has_thread) pthread_join(s->thread, NULL);
  s->has_thread = false;
  LIST_EACH_SAFE (r, &s->requests, request, in_line) {
    list_remove(&r->in_line);
    request_free(r);
  }
}
