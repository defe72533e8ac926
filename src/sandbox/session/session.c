/* session.c - the life of a session, and one request to it at a time (cay_session_new, _free, _cancel). */
#include "sandbox/session/session.h"

#include "base/alloc.h"
#include "sandbox/guests.h"
#include "sandbox/input.h"
#include "sandbox/session/language.h"
#include "sandbox/status.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum {
  GRACE_MS = 50, /* between the exception and force */
  POKE_MS = 1,
  DOZE_MS = 20, /* then a thread leaves an idle session */
  LONG_RUN_NS = 2000000,
  LINGER_NS = 50000, /* a thread that has answered, and one that waits for an answer, look so long before they
                        sleep: waking up costs about as much as a small evaluation */
  PAUSE_NS = 5000,   /* a caller with request after request is back before that */
  AGAIN_MS = 10000,  /* a request that took a fraction of this, made again on a machine that is busy */
};

#define LINGERING ((sb_request *)1)

/* ---- stopping a request ---- */

/* With kernel.mu. By force: the interpreter is left where it stands. */
static void force(cay_session *s) {
  if (s->forced) return;
  s->forced = true;
  k_process_end(abi_resident_process(s->resident), K_SIGKILL);
}

static enum talk_reason reason_of(enum k_job_stop why) {
  switch (why) {
  case K_JOB_TIME: return TALK_REASON_TIME;
  case K_JOB_FUEL: return TALK_REASON_FUEL;
  case K_JOB_CANCELLED:
  case K_JOB_RUNNING: break;
  }
  return TALK_REASON_CANCELLED;
}

/* With kernel.mu. */
static void urge(cay_session *s) {
  int64_t now = clock_mono_ns(), next = now + POKE_MS * NS_PER_MS;
  if (now >= s->hard_ns) {
    force(s);
    return;
  }
  if (abi_resident_poke(s->resident, reason_of(s->why))) next = s->hard_ns;
  if (alarm_arm(s->box->engine->alarms, &s->stop_alarm, next, NULL) != CAY_OK) force(s);
}

/* On the alarm thread; disarmed before the session's job goes. */
static void on_stop_alarm(void *ctx) {
  cay_session *s = ctx;
  k_kernel *k = s->box->kernel;
  k_lock(k);
  if (s->job != NULL && s->why != K_JOB_RUNNING) urge(s);
  k_unlock(k);
}

static bool try_stop_alarm(void *ctx) {
  cay_session *s = ctx;
  k_kernel *k = s->box->kernel;
  if (!k_try_lock(k)) return false;
  if (s->job != NULL && s->why != K_JOB_RUNNING) urge(s);
  k_unlock(k);
  return true;
}

/* k_job_stop_fn */
static void on_stop(void *ctx, enum k_job_stop why) {
  cay_session *s = ctx;
  if (s->why != K_JOB_RUNNING) return;
  s->why = why;
  s->hard_ns = clock_mono_ns() + GRACE_MS * NS_PER_MS;
  urge(s);
}

void cay_session_cancel(cay_session *s) {
  k_lock(s->box->kernel);
  if (s->job != NULL) k_job_kill(s->job, K_JOB_CANCELLED);
  k_unlock(s->box->kernel);
}

/* ---- taking turns ---- */

static inline void pause_a_moment(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/* Looks until `what` holds, but not for long, and not where another thread could not run meanwhile. */
static void look_for(const cay_session *s, bool (*what)(void *ctx), void *ctx, int64_t ns) {
  if (!s->box->engine->several_processors) return;
  int64_t until = clock_mono_ns() + ns;
  while (!what(ctx) && clock_mono_ns() < until) {
    for (int i = 0; i < 64 && !what(ctx); i++) pause_a_moment();
    if (!what(ctx))
      sched_yield(); /* where all processors are busy, the other thread may be waiting for this one */
  }
}

static bool is_settled(void *ctx) { return ((cay_session *)ctx)->state != SB_SETTLING; }
static bool is_done(void *ctx) { return atomic_load(&((sb_request *)ctx)->done); }
static bool is_asked(void *ctx) {
  cay_session *s = ctx;
  return atomic_load(&s->slot) != LINGERING || s->closing;
}

static bool session_is_held(const cay_session *s) {
  return s->state == SB_RUNNING || s->state == SB_SETTLING;
}

/* With mu: waits for its turn, behind all that came before. */
static cay_status session_await_turn(cay_session *s, cay_error *err) {
  if (s->last_ticket - s->turn == SB_WAITERS_MAX)
    return err_set(err, CAY_BUSY, "%d requests wait for the session already", SB_WAITERS_MAX);
  uint64_t ticket = s->last_ticket++;
  while (!s->closing && (session_is_held(s) || s->turn != ticket)) pthread_cond_wait(&s->changed, &s->mu);
  s->turn++;
  if (s->turn == s->last_ticket && !s->closing) return CAY_OK;
  pthread_cond_broadcast(&s->changed); /* for the next, and for a thread that closes the session */
  return s->closing ? err_set(err, CAY_CANCELLED, "the session ended before its turn") : CAY_OK;
}

/* With mu. A session that settles is free soon, and spins for it are short. */
static cay_status session_await(cay_session *s, bool no_wait, cay_error *err) {
  bool alone = s->turn == s->last_ticket;
  if (alone && s->state == SB_SETTLING) {
    pthread_mutex_unlock(&s->mu);
    look_for(s, is_settled, s, LINGER_NS);
    pthread_mutex_lock(&s->mu);
    alone = s->turn == s->last_ticket;
  }
  if (s->closing) return err_set(err, CAY_BUSY, "the session is ending");
  if (alone && !session_is_held(s)) return CAY_OK;
  if (s->state == SB_RUNNING && pthread_equal(s->runner, pthread_self()))
    return err_set(err, CAY_BUSY, "the session waits for the callback that asks");
  if (no_wait && (!alone || s->state == SB_RUNNING))
    return err_set(err, CAY_BUSY, "the session is running something else");
  return session_await_turn(s, err);
}

cay_status sb_session_take(cay_session *s, bool no_wait, cay_error *err) {
  pthread_mutex_lock(&s->mu);
  cay_status status = session_await(s, no_wait, err);
  if (status == CAY_OK && s->state == SB_BROKEN)
    status = err_set(err, CAY_INTERNAL, "the session was ended and could not be put back; make a new one");
  if (status == CAY_OK) s->state = SB_RUNNING;
  pthread_mutex_unlock(&s->mu);
  return status;
}

static void set_state(cay_session *s, enum sb_session_state state) {
  pthread_mutex_lock(&s->mu);
  s->state = state;
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
}

void sb_session_give(cay_session *s) { set_state(s, SB_IDLE); }

/* ---- one request ---- */

K_LOCKED static k_ret begin_job(sb_request *q) {
  cay_session *s = q->session;
  k_process *p = abi_resident_process(s->resident);
  k_job *job = NULL;
  K_TRY(k_job_new(s->box->kernel, q->output, q->output_ctx, &job));
  job->on_stop = on_stop;
  job->on_stop_ctx = s;
  job->on_event = q->event;
  job->on_event_ctx = q->event_ctx;
  job->on_piece = q->piece;
  job->on_piece_ctx = q->piece_ctx;
  if (s->fuel != NULL) {
    atomic_store(s->fuel, q->fuel != 0 ? q->fuel : UINT64_MAX);
    job->owner = s->fuel;
  }
  k_ret r = k_job_attach(job, p);
  if (r >= 0 && q->input.len != 0) r = sb_input_put(p, q->input);
  if (r < 0) {
    if (p->job != NULL) k_job_detach(p, K_SIGKILL);
    k_job_unref(job);
    return r;
  }
  s->job = job;
  s->why = q->cancelled != NULL && __atomic_load_n(q->cancelled, __ATOMIC_ACQUIRE) ? K_JOB_CANCELLED
                                                                                   : K_JOB_RUNNING;
  s->forced = false;
  return 0;
}

static void end_job(sb_request *q) {
  cay_session *s = q->session;
  k_job *job = s->job;
  IGNORED(k_job_set_deadline(job, K_FOREVER)); /* taking a deadline away cannot fail */
  k_lock(s->box->kernel);
  s->job = NULL;
  q->stop = s->why;
  k_unlock(s->box->kernel);
  if (q->stop != K_JOB_RUNNING) alarm_disarm(s->box->engine->alarms, &s->stop_alarm);
  k_lock(s->box->kernel);
  k_job_detach(abi_resident_process(s->resident), q->gone.status);
  if (!q->returned) k_job_kill(job, q->stop != K_JOB_RUNNING ? q->stop : K_JOB_CANCELLED);
  k_job_unref(job);
  k_unlock(s->box->kernel);
  if (q->fuel != 0) q->fuel_used = q->fuel - atomic_load(s->fuel);
}

/* A copy of an image knows neither its environment nor randomness of its own. */
static cay_status greet(cay_session *s, bool *returned, abi_gone *gone, cay_error *err) {
  const k_program *program = abi_resident_process(s->resident)->program;
  OWNED(buf_free) buf fields = BUF_INIT(INT32_MAX);
  uint8_t seed[32];
  cay_slice reply;
  k_lock(s->box->kernel);
  rng_bytes(&s->box->kernel->random, seed, sizeof seed);
  k_unlock(s->box->kernel);
  cay_status status = talk_put(&fields, TALK_SEED, seed, sizeof seed);
  for (uint32_t i = 0; s->fresh && i < program->envc && status == CAY_OK; i++)
    status = talk_put_text(&fields, TALK_ENV, program->envp[i]);
  if (status != CAY_OK) return err_no_memory(err);
  S_TRY(abi_resident_call(s->resident, TALK_GREET, (cay_slice){ fields.data, fields.len }, &reply, returned,
                          gone, err));
  if (*returned) s->greeted = true;
  return CAY_OK;
}

static cay_status converse(sb_request *q, cay_error *err) {
  cay_session *s = q->session;
  cay_slice bytes = { 0 };
  if (!s->greeted) S_TRY(greet(s, &q->returned, &q->gone, err));
  if (!q->returned) return CAY_OK;
  S_TRY(abi_resident_call(s->resident, q->op, (cay_slice){ q->fields.data, q->fields.len }, &bytes,
                          &q->returned, &q->gone, err));
  if (!q->returned) return CAY_OK;
  talk_reply reply;
  if (!talk_read(bytes, &reply)) {
    q->returned = false;
    q->gone = (abi_gone){ .status = K_SIGABRT,
                          .why = "the interpreter answered nonsense: fields beyond the reply" };
    return CAY_OK;
  }
  return q->on_reply(q->ctx, &reply, err);
}

static void run(sb_request *q) {
  cay_session *s = q->session;
  q->returned = true;
  k_lock(s->box->kernel);
  k_ret r = begin_job(q);
  q->skipped = r >= 0 && s->why == K_JOB_CANCELLED;
  k_unlock(s->box->kernel);
  if (r < 0) {
    q->status = sb_status(&q->err, r, NULL);
    return;
  }
  if (q->wall_ms != UINT32_MAX) r = k_job_set_deadline(s->job, q->start_ns + q->wall_ms * NS_PER_MS);
  if (!q->skipped) q->status = r < 0 ? sb_status(&q->err, r, NULL) : converse(q, &q->err);
  q->end_ns = clock_mono_ns();
  end_job(q);
}

/* ---- before and after ---- */

static cay_status look_away(void *ctx, const talk_reply *reply, cay_error *err) {
  (void)ctx, (void)reply, (void)err;
  return CAY_OK;
}

static bool run_again(cay_session *s, enum talk_op op, cay_slice fields) {
  sb_request q = { .session = s, .op = op, .wall_ms = AGAIN_MS, .on_reply = look_away };
  q.fields = (buf){ .data = (uint8_t *)(uintptr_t)fields.data, .len = fields.len }; /* only read */
  q.start_ns = clock_mono_ns();
  run(&q);
  return q.status == CAY_OK && q.returned && abi_resident_was_alone(s->resident);
}

static bool undo(cay_session *s) {
  if (abi_resident_undo(s->resident, NULL) != CAY_OK) return false;
  if (s->served == 0) s->greeted = false; /* it is the image again, which was not greeted */
  enum talk_op op;
  cay_slice fields;
  for (size_t at = 0; sb_replay_next(&s->replay, &at, &op, &fields);)
    if (!run_again(s, op, fields)) return false;
  return true;
}

/* The state before the request. False: the session is of no use any more. */
static bool put_back(sb_request *q) {
  cay_session *s = q->session;
  q->undone = !s->no_undo && undo(s);
  return q->undone;
}

/* The caller goes on, and `q` is gone. The session stays, since it is not idle yet. */
static void tell(sb_request *q) {
  cay_session *s = q->session;
  pthread_mutex_lock(&s->mu);
  s->state = SB_SETTLING;
  atomic_store(&q->done, true);
  pthread_mutex_unlock(&s->mu);
  pthread_cond_broadcast(&s->changed);
}

static bool save(cay_session *s) {
  s->unsaved = false;
  sb_replay_clear(&s->replay);
  return abi_resident_checkpoint(s->resident, NULL) == CAY_OK;
}

/* When the state after a request becomes what the session can be put back to. */
enum saving {
  SAVE_NOW,
  SAVE_LATER, /* before the next request. Many sessions are asked once. And after a long evaluation, which may
                 have written much: who restores an image or frees the session next shall not wait for a copy
                 that is not needed */
  SAVE_REPLAY /* there is nothing to copy: the request can be made again */
};

/* Of the interpreter, in all. */
static int64_t computed_ns(const cay_session *s) {
  const k_process *p = abi_resident_process(s->resident);
  return p->user_ns + p->system_ns;
}

static enum saving choose_saving(const sb_request *q, int64_t run_ns) {
  cay_session *s = q->session;
  if (s->served == 0 || run_ns > LONG_RUN_NS) return SAVE_LATER;
  if (q->status != CAY_OK || q->input.len != 0 || !abi_resident_was_alone(s->resident)) return SAVE_NOW;
  cay_slice fields = { q->fields.data, q->fields.len };
  return sb_replay_add(&s->replay, q->op, fields, run_ns) ? SAVE_REPLAY : SAVE_NOW;
}

/* The caller has its answer before a checkpoint is made. */
static void handle(sb_request *q) {
  cay_session *s = q->session;
  enum saving saving = SAVE_LATER;
  bool usable = !s->unsaved || save(s);
  if (!usable) {
    q->status = err_set(&q->err, CAY_INTERNAL, "the session cannot be saved any more");
  } else {
    int64_t before_ns = computed_ns(s);
    run(q);
    if (!q->returned)
      usable = put_back(q);
    else if (!s->no_undo && !q->skipped)
      saving = choose_saving(q, computed_ns(s) - before_ns);
  }
  bool is_new = usable && q->returned && !q->skipped && !s->no_undo; /* `q` is gone soon */
  tell(q);
  if (is_new) {
    s->served++;
    s->unsaved = saving == SAVE_LATER;
    if (saving == SAVE_NOW) usable = save(s);
  }
  set_state(s, usable ? SB_IDLE : SB_BROKEN);
}

/* Sleeps until somebody asks, or for a while. */
static void doze(cay_session *s) {
  struct timespec until = clock_timespec(clock_mono_ns() + DOZE_MS * NS_PER_MS);
  pthread_mutex_lock(&s->mu);
  atomic_store(&s->dozing, true);
  while (!is_asked(s) && pthread_cond_timedwait(&s->changed, &s->mu, &until) == 0) {}
  atomic_store(&s->dozing, false);
  pthread_mutex_unlock(&s->mu);
}

static bool begin_settling(cay_session *s) {
  pthread_mutex_lock(&s->mu);
  bool idle = s->state == SB_IDLE && !s->closing && !s->no_undo;
  if (idle) s->state = SB_SETTLING;
  pthread_mutex_unlock(&s->mu);
  return idle;
}

/* No request has followed at once. */
static void save_replay(cay_session *s) {
  if (!begin_settling(s)) return;
  bool usable = s->replay.requests.len == 0 || s->unsaved || save(s);
  set_state(s, usable ? SB_IDLE : SB_BROKEN);
}

/* No request for a while: holds less memory, and can be copied quickly. */
static void settle(cay_session *s) {
  if (!begin_settling(s)) return;
  s->unsaved = false;
  sb_replay_free(&s->replay);
  set_state(s, abi_resident_settle(s->resident, NULL) == CAY_OK ? SB_IDLE : SB_BROKEN);
}

/* A session is used again at once more often than not. Once `slot` is NULL nothing of it may be touched. */
static void run_requests(void *ctx) {
  sb_request *q = ctx;
  cay_session *s = q->session;
  s->runner = pthread_self();
  for (;;) {
    atomic_store(&s->slot, LINGERING);
    handle(q);
    look_for(s, is_asked, s, PAUSE_NS);
    if (!is_asked(s)) save_replay(s);
    look_for(s, is_asked, s, LINGER_NS);
    if (!is_asked(s)) doze(s);
    if (!is_asked(s)) settle(s);
    q = LINGERING;
    if (atomic_compare_exchange_strong(&s->slot, &q, NULL)) return;
  }
}

static void wake(cay_session *s) {
  pthread_mutex_lock(&s->mu);
  pthread_cond_broadcast(&s->changed);
  pthread_mutex_unlock(&s->mu);
}

cay_status sb_session_ask(sb_request *q, cay_error *err) {
  cay_session *s = q->session;
  q->start_ns = clock_mono_ns();
  sb_request *expected = LINGERING;
  if (atomic_compare_exchange_strong(&s->slot, &expected, q)) {
    if (atomic_load(&s->dozing)) wake(s);
  } else {
    cay_status status = thread_pool_run(s->box->engine->threads, run_requests, q, err);
    if (status != CAY_OK) {
      sb_session_give(s);
      return status;
    }
  }
  look_for(s, is_done, q, LINGER_NS);
  pthread_mutex_lock(&s->mu);
  while (!q->done) pthread_cond_wait(&s->changed, &s->mu);
  pthread_mutex_unlock(&s->mu);
  if (q->status != CAY_OK && err != NULL) *err = q->err;
  return q->status;
}

/* ---- life ---- */

static cay_status make_process(cay_session *s, const sb_language *language, const cay_session_options *o,
                               k_process **out, cay_error *err) {
  sb_env env = { 0 };
  k_process *p = NULL;
  pthread_mutex_lock(&s->box->env_mu);
  cay_status status = sb_env_copy(&env, &s->box->env, err);
  pthread_mutex_unlock(&s->box->env_mu);
  if (status == CAY_OK) status = sb_env_put_all(&env, o->env, err);
  if (status == CAY_OK) {
    k_lock(s->box->kernel);
    k_ret r = sb_language_process(language, s->box->kernel, sb_env_vector(&env), o->cwd, NULL, &p);
    k_unlock(s->box->kernel);
    status = r == -K_EAGAIN ? err_set(err, CAY_LIMIT, "EAGAIN: the sandbox has as many processes as it may")
                            : sb_status(err, r, language->program);
  }
  sb_env_free(&env);
  *out = p;
  return status;
}

static void discard(cay_sandbox *box, k_process *p) {
  k_lock(box->kernel);
  k_process_discard(p);
  k_unlock(box->kernel);
}

/* Processes that an evaluation left behind draw on it, too, also when the session is gone. */
static cay_status count_fuel(cay_session *s, cay_error *err) {
  sb_fuel *fuel = mem_zalloc(sizeof *fuel);
  if (fuel == NULL) return err_no_memory(err);
  pthread_mutex_lock(&s->box->runs_mu);
  fuel->next = s->box->fuel;
  s->box->fuel = fuel;
  pthread_mutex_unlock(&s->box->runs_mu);
  s->fuel = &fuel->left;
  return CAY_OK;
}

/* Returns the boot image for the fuel-counting or the plain module. The caller owns a reference. */
static cay_status choose_image(cay_session *s, const sb_language *language, const cay_image *given,
                               eng_image **out, cay_error *err) {
  cay_engine *engine = s->box->engine;
  eng_image *image = given != NULL ? given->memory : NULL;
  if (image == NULL) S_TRY(sb_language_boot(engine, language, &image, err));
  k_image *program = sb_guest_image(engine, language->program);
  if (program == NULL) return err_set(err, CAY_NOT_FOUND, "%s is not among the guests", language->program);
  if (s->fuel == NULL) return eng_image_for(image, abi_linux_image_module(program), out, err);
  OWNED(eng_module_unref) eng_module *counting = NULL;
  S_TRY(abi_linux_image_counting(program, engine->wasm, &counting, err));
  return eng_image_for(image, counting, out, err);
}

static cay_status take_files(cay_session *s, const cay_image *image, cay_error *err) {
  sb_files files;
  S_TRY(sb_files_open(s, image, &files, err));
  sb_files_put(s, image, &files);
  return CAY_OK;
}

static cay_status start(cay_session *s, const cay_session_options *o, cay_error *err) {
  const sb_language *language = sb_language_find(o->language);
  s->fresh = true;
  OWNED(eng_image_unref) eng_image *image = NULL;
  k_process *p = NULL;
  if (language == NULL) return err_set(err, CAY_NOT_FOUND, "no language is called %.40s", o->language);
  if (o->count_fuel || s->box->limits.fuel != 0) S_TRY(count_fuel(s, err));
  S_TRY(choose_image(s, language, o->image, &image, err));
  S_TRY(make_process(s, language, o, &p, err));
  cay_status status = abi_resident_new(s->box->runner, p, image, &s->resident, err);
  if (status != CAY_OK) {
    discard(s->box, p);
    return status;
  }
  if (o->image != NULL) S_TRY(take_files(s, o->image, err));
  return abi_resident_begin(s->resident, err);
}

cay_status cay_session_new(cay_sandbox *box, const cay_session_options *options, cay_session **out,
                           cay_error *err) {
  cay_session_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "session options: from a newer version of session.h");
  cay_session *s = mem_zalloc(sizeof *s);
  if (s == NULL) return err_no_memory(err);
  *s = (cay_session){ .box = box,
                      .no_undo = o.no_undo,
                      .replay = SB_REPLAY_INIT,
                      .stop_alarm = { .fn = on_stop_alarm, .try_fn = try_stop_alarm, .ctx = s } };
  pthread_mutex_init(&s->mu, NULL);
  clock_cond_init(&s->changed);
  list_init(&s->in_box);
  pthread_mutex_lock(&box->runs_mu);
  list_push(&box->sessions, &s->in_box);
  pthread_mutex_unlock(&box->runs_mu);
  cay_status status = start(s, &o, err);
  if (status != CAY_OK) {
    cay_session_free(s);
    return status;
  }
  *out = s;
  return CAY_OK;
}

/* What runs is ended without grace. */
static void close_session(cay_session *s) {
  pthread_mutex_lock(&s->mu);
  s->closing = true;
  pthread_cond_broadcast(&s->changed);
  if (s->state == SB_RUNNING) {
    k_lock(s->box->kernel);
    if (s->job != NULL) {
      k_job_kill(s->job, K_JOB_CANCELLED);
      force(s);
    }
    k_unlock(s->box->kernel);
  }
  while (session_is_held(s) || s->turn != s->last_ticket) pthread_cond_wait(&s->changed, &s->mu);
  pthread_mutex_unlock(&s->mu);
  while (atomic_load(&s->slot) != NULL) sched_yield(); /* it sees `closing` */
}

static void destroy(cay_session *s) {
  close_session(s);
  abi_resident_free(s->resident);
  sb_replay_free(&s->replay);
  pthread_mutex_destroy(&s->mu);
  pthread_cond_destroy(&s->changed);
  mem_free(s);
}

void cay_session_free(cay_session *s) {
  if (s == NULL) return;
  pthread_mutex_lock(&s->box->runs_mu);
  list_remove(&s->in_box);
  pthread_mutex_unlock(&s->box->runs_mu);
  destroy(s);
}

void sb_sessions_free(cay_sandbox *box) {
  for (;;) {
    pthread_mutex_lock(&box->runs_mu);
    cay_session *s =
        list_empty(&box->sessions) ? NULL : CONTAINER_OF(box->sessions.next, cay_session, in_box);
    if (s != NULL) list_remove(&s->in_box);
    pthread_mutex_unlock(&box->runs_mu);
    if (s == NULL) return;
    destroy(s);
  }
}
