/* call.c - questions of a guest to the embedder: callbacks, the events of a trace, and what a cell displays. */
#include "kernel/file/callback.h"

#include "abi/linux/machine.h"

/* As in guest/libc's <cay.h>. */
struct g_callback {
  uint32_t name, name_len, args, args_len, reply, reply_cap;
  uint32_t status, len;
  int32_t fd;
};

enum { ANSWERED, REFUSED, PENDING };
enum { EVENT_MAX = 1 << 20, DISPLAY_MAX = 64 << 20 };

static k_ret check(abi_machine *m, const struct g_callback *q, const void **name, const void **args) {
  void *at = NULL;
  if (q->name_len == 0 || q->name_len > K_CALLBACK_NAME_MAX) return -K_ENOENT;
  if (q->args_len > K_CALLBACK_ARGS_MAX) return -K_E2BIG;
  K_TRY(abi_ptr(m->instance, q->reply, q->reply_cap, &at));
  K_TRY(abi_ptr(m->instance, q->name, q->name_len, &at));
  *name = at;
  K_TRY(abi_ptr(m->instance, q->args, q->args_len, &at));
  *args = at;
  return 0;
}

/* A descriptor to wait at. The reference of `call` is taken over. */
K_LOCKED static k_ret open_ask(abi_machine *m, k_callback *call) {
  k_file *f = NULL;
  k_ret r = k_callback_open(call, &f);
  if (r < 0) {
    k_callback_unref(call);
    return r;
  }
  r = k_fd_add(&m->p->fds, f, 0, true);
  if (r < 0) k_file_unref(f);
  return r;
}

/* With kernel.mu: the answer if it is there and fits, else a descriptor. */
K_LOCKED static k_ret settle(abi_machine *m, k_callback *call, struct g_callback *q) {
  q->fd = -1;
  q->status = !call->answered ? PENDING : call->refused ? REFUSED : ANSWERED;
  q->len = call->answered ? (uint32_t)call->len : 0;
  if (call->answered && call->len <= q->reply_cap) {
    k_ret r = abi_copy_out(m->instance, q->reply, call->data, call->len);
    k_callback_unref(call);
    return r;
  }
  k_ret fd = open_ask(m, call);
  if (fd >= 0) q->fd = (int32_t)fd;
  return fd < 0 ? fd : 0;
}

k_ret sys_cay_callback(abi_machine *m, const uint32_t a[static 6]) {
  struct g_callback q;
  const void *name = NULL, *args = NULL;
  const k_callback_host *host = m->kernel->callback_host;
  k_callback *call = NULL;
  K_TRY(abi_get(m->instance, a[0], &q));
  K_TRY(check(m, &q, &name, &args));
  if (host == NULL) return -K_ENOENT;
  k_lock(m->kernel);
  k_ret r = k_callback_new(m->kernel, &call);
  if (r >= 0) call->refs++; /* the host's */
  k_unlock(m->kernel);
  if (r < 0) return r;
  r = host->call(host->ctx, call, name, q.name_len, args, q.args_len);
  k_lock(m->kernel);
  if (r < 0) {
    k_callback_unref(call);
    k_callback_unref(call);
  } else {
    r = settle(m, call, &q);
  }
  k_unlock(m->kernel);
  return r < 0 ? r : abi_put(m->instance, a[0], &q);
}

k_ret sys_cay_callbacks(abi_machine *m, const uint32_t a[static 6]) {
  const k_callback_host *host = m->kernel->callback_host;
  char *text = NULL;
  size_t len = 0;
  if (host == NULL) return -K_ENOENT;
  K_TRY(host->list(host->ctx, &text, &len));
  k_ret r = len <= a[1] ? abi_copy_out(m->instance, a[0], text, len) : 0;
  mem_free(text);
  return r < 0 ? r : (k_ret)len;
}

/* The job cannot end meanwhile if the asking process is its resident: only this thread detaches it. */
static k_job *resident_job(abi_machine *m) {
  k_lock(m->kernel);
  k_job *job = m->p->resident ? m->p->job : NULL;
  k_unlock(m->kernel);
  return job;
}

static k_ret emit_trace(abi_machine *m, const uint32_t a[static 6]) {
  void *event = NULL, *context = NULL;
  if (a[3] > EVENT_MAX || a[5] > EVENT_MAX) return -K_E2BIG;
  K_TRY(abi_ptr(m->instance, a[2], a[3], &event));
  K_TRY(abi_ptr(m->instance, a[4], a[5], &context));
  const k_job *job = resident_job(m);
  if (job == NULL || job->on_event == NULL) return -K_ENOSPC;
  return job->on_event(job->on_event_ctx, a[1], event, a[3], context, a[5]);
}

static k_ret emit_bytes(abi_machine *m, const uint32_t a[static 6]) {
  void *data = NULL;
  if (a[3] > EVENT_MAX) return -K_E2BIG;
  K_TRY(abi_ptr(m->instance, a[2], a[3], &data));
  const k_job *job = resident_job(m);
  if (job == NULL || job->on_piece == NULL) return -K_ENOSPC;
  return job->on_piece(job->on_piece_ctx, data, a[3]);
}

/* -ENOENT: the embedder takes none. */
static k_ret emit_display(abi_machine *m, const uint32_t a[static 6]) {
  void *bundle = NULL;
  if (a[3] > DISPLAY_MAX) return -K_E2BIG;
  K_TRY(abi_ptr(m->instance, a[2], a[3], &bundle));
  const k_job *job = resident_job(m);
  if (job == NULL || job->on_display == NULL) return -K_ENOENT;
  return job->on_display(job->on_display_ctx, bundle, a[3]);
}

k_ret sys_cay_emit(abi_machine *m, const uint32_t a[static 6]) {
  switch (a[0]) {
  case K_EVENT_TRACE: return emit_trace(m, a);
  case K_EVENT_BYTES: return emit_bytes(m, a);
  case K_EVENT_DISPLAY: return emit_display(m, a);
  default: return -K_EINVAL;
  }
}
