#include "grpc/service/queue.h"

#include "test.h"

#include <unistd.h>

/* One executor that is held at a gate, and records its jobs. */
typedef struct gate {
  pthread_mutex_t mu;
  pthread_cond_t moved;
  bool open, inside;
  char order[64];
} gate;

static void run(void *ctx, execution *e) {
  gate *g = ctx;
  (void)pthread_mutex_lock(&g->mu);
  g->inside = true;
  (void)pthread_cond_broadcast(&g->moved);
  while (!g->open) (void)pthread_cond_wait(&g->moved, &g->mu);
  size_t len = strlen(g->order);
  g->order[len] = e->client[0];
  (void)pthread_mutex_unlock(&g->mu);
}

static execution *make(const char *client) {
  execution *e = NULL;
  cay_error err;
  EXPECT_EQ(execution_new(&(execution_spec){ .code = { "12345678", 8 }, .client = client }, &e, &err),
            CAY_OK);
  return e;
}

static cay_status add(queue *q, const char *client) {
  cay_error err;
  execution *e = make(client);
  cay_status status = queue_add(q, e, &err);
  execution_unref(e);
  return status;
}

static queue *open_queue(gate *g, size_t client_max, size_t total_max, size_t bytes) {
  *g = (gate){ .mu = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER };
  queue *q = NULL;
  cay_error err;
  queue_options options = { .executors = 1,
                            .client_max = client_max,
                            .total_max = total_max,
                            .client_bytes = bytes,
                            .total_bytes = 100000,
                            .run = run,
                            .ctx = g };
  EXPECT_EQ(queue_new(&options, &q, &err), CAY_OK);
  EXPECT_EQ(add(q, "x"), CAY_OK);
  (void)pthread_mutex_lock(&g->mu);
  while (!g->inside) (void)pthread_cond_wait(&g->moved, &g->mu);
  (void)pthread_mutex_unlock(&g->mu);
  return q;
}

static void open_gate(gate *g) {
  (void)pthread_mutex_lock(&g->mu);
  g->open = true;
  (void)pthread_cond_broadcast(&g->moved);
  (void)pthread_mutex_unlock(&g->mu);
}

static void let_go(void *ctx, execution *e) { ++*(int *)ctx, execution_unref(e); }

static void wait_empty(queue *q) {
  for (queue_counts counts = { .waiting = 1 }; counts.waiting + counts.running != 0;
       queue_counts_read(q, &counts))
    (void)usleep(1000);
}

TEST(clients_take_turns) {
  gate g;
  queue *q = open_queue(&g, 10, 20, 100000);
  for (int i = 0; i < 3; i++) EXPECT_EQ(add(q, "a"), CAY_OK);
  for (int i = 0; i < 2; i++) EXPECT_EQ(add(q, "b"), CAY_OK);
  EXPECT_EQ(add(q, "c"), CAY_OK);
  open_gate(&g);
  wait_empty(q);
  EXPECT_TEXT(g.order, "xabcaba");
  int left = 0;
  queue_close(q, let_go, &left);
  EXPECT_EQ(left, 0);
  queue_free(q);
}

TEST(limits_of_one_client_and_of_all) {
  gate g;
  queue *q = open_queue(&g, 2, 3, 100000);
  EXPECT(add(q, "a") == CAY_OK && add(q, "a") == CAY_OK && add(q, "a") == CAY_LIMIT);
  EXPECT(add(q, "b") == CAY_OK && add(q, "b") == CAY_LIMIT && add(q, "c") == CAY_LIMIT);
  open_gate(&g);
  wait_empty(q);
  EXPECT_EQ(add(q, "a"), CAY_OK);
  int left = 0;
  queue_close(q, let_go, &left);
  EXPECT_EQ(add(q, "a"), CAY_CANCELLED);
  queue_free(q);
}

TEST(bytes_of_a_client_are_limited) {
  gate g;
  queue *q = open_queue(&g, 100, 100, 3 * sizeof(execution));
  EXPECT(add(q, "a") == CAY_OK && add(q, "a") == CAY_OK && add(q, "a") == CAY_LIMIT);
  open_gate(&g);
  int left = 0;
  queue_close(q, let_go, &left);
  queue_free(q);
}

TEST(what_waits_can_be_taken_out_and_what_runs_not) {
  gate g;
  queue *q = open_queue(&g, 10, 10, 100000);
  cay_error err;
  execution *e = make("a");
  EXPECT_EQ(queue_add(q, e, &err), CAY_OK);
  EXPECT(queue_remove(q, e) && !queue_remove(q, e));
  execution_unref(e);
  queue_counts counts;
  queue_counts_read(q, &counts);
  EXPECT(counts.waiting == 0 && counts.running == 1 && counts.clients == 0);
  EXPECT(!queue_wait(q, 0));
  EXPECT_EQ(add(q, "a"), CAY_OK);
  int left = 0;
  queue_close(q, let_go, &left);
  EXPECT_EQ(left, 1);
  open_gate(&g);
  EXPECT(queue_wait(q, INT64_MAX));
  queue_free(q);
  execution_unref(e);
}
