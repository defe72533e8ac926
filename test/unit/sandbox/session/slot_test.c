/* slot_test.c - the protocol of a session with C functions in place of an interpreter. What only one thread at a time may touch is
 * plain memory here, so that ThreadSanitizer sees each order that the protocol does not give. */
#include "base/clock.h"
#include "sandbox/session/slot.h"
#include "test.h"

#include <string.h>
#include <unistd.h>

enum { CALLERS = 6, ROUNDS = 300 };

typedef struct native {
  sb_slot slot;
  thread_pool *threads;
  /* the turn's */
  uint64_t sum;
  /* the slot's thread's */
  uint64_t runs, answers, rests;
  bool new_state, fails_to_run, fails_to_settle;
  _Atomic bool gate, inside; /* a request of kind WAITS is `inside` until the gate is open */
} native;

enum kind { ADDS, WAITS, CALLS_BACK };

typedef struct request {
  sb_slot_request base;
  native *n;
  enum kind kind;
  uint64_t add, answer;
  cay_status called_back;
} request;

static void gate_wait(native *n) {
  n->inside = true;
  while (!n->gate) usleep(100);
  n->inside = false;
}

static bool native_run(void *ctx, sb_slot_request *base) {
  native *n = ctx;
  request *q = CONTAINER_OF(base, request, base);
  n->runs++;
  n->sum += q->add;
  q->answer = n->sum;
  if (q->kind == WAITS) gate_wait(n);
  if (q->kind == CALLS_BACK) q->called_back = sb_slot_take(&n->slot, false, NULL);
  n->new_state = true;
  return !n->fails_to_run;
}

static bool native_settle(void *ctx, enum sb_slot_moment moment) {
  native *n = ctx;
  if (moment == SB_ANSWERED) n->answers++;
  if (moment == SB_RESTING) n->rests++;
  n->new_state = false;
  return !n->fails_to_settle;
}

static void native_stop(void *ctx) { ((native *)ctx)->gate = true; }

static native *native_new(bool spins) {
  static const sb_slot_work work = { native_run, native_settle };
  native *n = mem_zalloc(sizeof *n);
  EXPECT(n != NULL);
  EXPECT_EQ(thread_pool_new(&(thread_pool_options){ .name = "slot" }, &n->threads, NULL), CAY_OK);
  sb_slot_init(&n->slot, &work, n, n->threads, spins);
  sb_slot_give(&n->slot);
  return n;
}

static void native_close(native *n) {
  sb_slot_close(&n->slot, native_stop);
  sb_slot_destroy(&n->slot);
  memset(&n->slot, 0xaa, sizeof n->slot); /* a thread that still uses it is a race, and breaks here */
}

static void native_free(native *n) {
  thread_pool_free(n->threads);
  mem_free(n);
}

static cay_status native_ask(native *n, request *q) {
  q->n = n;
  cay_status status = sb_slot_take(&n->slot, false, NULL);
  return status != CAY_OK ? status : sb_slot_ask(&n->slot, &q->base, NULL);
}

static void expect_adds(native *n, uint64_t add, uint64_t sum) {
  request q = { .add = add };
  EXPECT_EQ(native_ask(n, &q), CAY_OK);
  EXPECT_EQ(q.answer, sum);
}

static bool within_seconds(_Atomic bool *what) {
  for (int i = 0; i < 100000 && !*what; i++) usleep(100);
  return *what;
}

TEST(request_is_answered_and_the_slot_settles) {
  native *n = native_new(true);
  expect_adds(n, 3, 3);
  expect_adds(n, 4, 7);
  native_close(n);
  EXPECT_EQ(n->runs, 2);
  EXPECT_EQ(n->answers, 2);
  EXPECT(!n->new_state);
  native_free(n);
}

TEST(slot_that_is_not_asked_comes_to_rest_and_its_thread_leaves) {
  native *n = native_new(true);
  expect_adds(n, 1, 1);
  while (atomic_load(&n->slot.next) != NULL) usleep(1000);
  expect_adds(n, 1, 2);
  native_close(n);
  EXPECT(n->rests >= 1);
  native_free(n);
}

typedef struct caller {
  native *n;
  pthread_t thread;
  unsigned seed;
  uint64_t added, last;
  uint32_t ended; /* requests that failed since the slot was closed */
  bool one_by_one;
} caller;

/* Waits of all lengths: none, within the spins, within the doze, and beyond it. */
static void pause_by_chance(unsigned *seed) {
  static const useconds_t waits[] = { 0, 0, 0, 3, 20, 60, 200, 3000, 25000 };
  useconds_t us = waits[(unsigned)rand_r(seed) % COUNT_OF(waits)];
  if (us > 3000 && rand_r(seed) % 8 != 0) us = 0;
  if (us > 0) usleep(us);
}

static void *caller_main(void *ctx) {
  caller *c = ctx;
  for (int i = 0; i < ROUNDS; i++) {
    request q = { .add = (uint64_t)i % 7 };
    cay_status status = native_ask(c->n, &q);
    if (status == CAY_CANCELLED || status == CAY_BUSY) {
      c->ended++;
      break;
    }
    if (status != CAY_OK || q.answer < c->last + q.add) abort(); /* sums only grow */
    c->last = q.answer;
    c->added += q.add;
    pause_by_chance(&c->seed);
  }
  return NULL;
}

static uint64_t run_callers(native *n, int close_after_us) {
  caller callers[CALLERS];
  uint64_t added = 0;
  for (unsigned i = 0; i < CALLERS; i++) {
    callers[i] = (caller){ .n = n, .seed = i * 77 + (unsigned)close_after_us };
    EXPECT_EQ(pthread_create(&callers[i].thread, NULL, caller_main, &callers[i]), 0);
  }
  if (close_after_us > 0) {
    usleep((useconds_t)close_after_us);
    sb_slot_close(&n->slot, native_stop);
  }
  for (unsigned i = 0; i < CALLERS; i++) EXPECT_EQ(pthread_join(callers[i].thread, NULL), 0);
  for (unsigned i = 0; i < CALLERS; i++) added += callers[i].added;
  return added;
}

TEST(callers_of_several_threads_take_turns) {
  for (int spins = 0; spins < 2; spins++) {
    native *n = native_new(spins != 0);
    uint64_t added = run_callers(n, 0);
    native_close(n);
    EXPECT_EQ(n->sum, added);
    EXPECT_EQ(n->runs, CALLERS * ROUNDS);
    EXPECT_EQ(n->answers, n->runs);
    native_free(n);
  }
}

TEST(slot_is_closed_amid_its_callers) {
  static const int moments[] = { 1, 50, 300, 2000, 9000, 30000 };
  for (size_t i = 0; i < COUNT_OF(moments); i++) {
    native *n = native_new(i % 2 == 0);
    uint64_t added = run_callers(n, moments[i]);
    EXPECT_EQ(n->sum, added);
    EXPECT(n->slot.next == NULL);
    sb_slot_destroy(&n->slot);
    native_free(n);
  }
}

TEST(slot_is_closed_at_every_moment_after_an_answer) {
  for (int i = 0; i < 400; i++) {
    native *n = native_new(i % 2 == 0);
    expect_adds(n, 1, 1);
    if (i % 3 != 0) usleep((useconds_t)(i % 97) * (i % 5 == 0 ? 300 : 1));
    native_close(n);
    native_free(n);
  }
}

static void *closer_main(void *ctx) {
  native_close(ctx);
  return NULL;
}

TEST(closing_stops_the_request_that_runs_and_waits_for_it) {
  native *n = native_new(true);
  request q = { .n = n, .kind = WAITS, .add = 1 };
  pthread_t closer;
  EXPECT_EQ(sb_slot_take(&n->slot, false, NULL), CAY_OK);
  EXPECT_EQ(pthread_create(&closer, NULL, closer_main, n), 0);
  EXPECT_EQ(sb_slot_ask(&n->slot, &q.base, NULL), CAY_OK);
  EXPECT_EQ(pthread_join(closer, NULL), 0);
  EXPECT_EQ(n->sum, 1);
  native_free(n);
}

static void *waits_main(void *ctx) {
  native *n = ctx;
  request q = { .kind = WAITS };
  if (native_ask(n, &q) != CAY_OK) abort();
  return NULL;
}

TEST(slot_that_is_held_is_busy_for_callers_that_do_not_wait) {
  native *n = native_new(true);
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, waits_main, n), 0);
  EXPECT(within_seconds(&n->inside));
  EXPECT_EQ(sb_slot_take(&n->slot, true, NULL), CAY_BUSY);
  n->gate = true;
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  EXPECT_EQ(sb_slot_take(&n->slot, true, NULL), CAY_OK); /* it settles at most, which is waited for */
  sb_slot_give(&n->slot);
  native_close(n);
  native_free(n);
}

static void request_on_done(sb_slot_request *base) {
  request *q = CONTAINER_OF(base, request, base);
  q->n->inside = true; /* the last use of the request */
}

TEST(request_that_is_sent_tells_its_end) {
  native *n = native_new(true);
  request q = { .base = { .on_done = request_on_done }, .n = n, .add = 5 };
  EXPECT_EQ(sb_slot_try(&n->slot, NULL), CAY_OK);
  EXPECT_EQ(sb_slot_send(&n->slot, &q.base, NULL), CAY_OK);
  EXPECT(within_seconds(&n->inside));
  EXPECT_EQ(q.answer, 5);
  native_close(n);
  native_free(n);
}

TEST(slot_is_held_once_it_rests) {
  native *n = native_new(true);
  bool taken = false;
  pthread_t thread;
  EXPECT_EQ(pthread_create(&thread, NULL, waits_main, n), 0);
  EXPECT(within_seconds(&n->inside));
  EXPECT_EQ(sb_slot_try(&n->slot, NULL), CAY_BUSY);
  EXPECT(!sb_slot_hold(&n->slot, 0, &taken));
  EXPECT(!taken);
  n->gate = true;
  EXPECT(sb_slot_hold(&n->slot, INT64_MAX, &taken));
  EXPECT(taken);
  EXPECT_EQ(sb_slot_try(&n->slot, NULL), CAY_BUSY);
  sb_slot_give(&n->slot);
  EXPECT_EQ(pthread_join(thread, NULL), 0);
  native_close(n);
  native_free(n);
}

TEST(callback_cannot_wait_for_its_own_slot) {
  native *n = native_new(true);
  request q = { .kind = CALLS_BACK };
  EXPECT_EQ(native_ask(n, &q), CAY_OK);
  EXPECT_EQ(q.called_back, CAY_BUSY);
  native_close(n);
  native_free(n);
}

static void expect_broken(native *n) {
  request q = { .add = 1 };
  EXPECT_EQ(native_ask(n, &q), CAY_INTERNAL);
  native_close(n);
  native_free(n);
}

TEST(slot_whose_request_cannot_be_undone_is_broken) {
  native *n = native_new(true);
  n->fails_to_run = true;
  expect_adds(n, 1, 1); /* its own request has an answer */
  expect_broken(n);
}

TEST(slot_that_cannot_settle_is_broken) {
  native *n = native_new(true);
  n->fails_to_settle = true;
  expect_adds(n, 1, 1);
  expect_broken(n);
}
