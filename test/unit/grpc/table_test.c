#include "grpc/service/table.h"

#include "test.h"

static execution *add(table *t, bool lasting) {
  execution *e = NULL;
  cay_error err;
  EXPECT_EQ(execution_new(&(execution_spec){ .client = "c", .output_max = 10, .lasting = lasting }, &e, &err),
            CAY_OK);
  table_add(t, e);
  execution_unref(e);
  return e;
}

static void end(table *t, execution *e) {
  execution_result result = { .state = EXECUTION_COMPLETED };
  (void)execution_ref(e);
  EXPECT(execution_finish(e, &result));
  table_ended(t, e, e->lasting);
  execution_unref(e);
}

static bool has(table *t, const char *id) {
  execution *e = table_find(t, (cay_slice){ id, strlen(id) });
  execution_unref(e);
  return e != NULL;
}

static bool count(void *ctx, execution *e) {
  (void)e;
  return ++*(int *)ctx < 2;
}

TEST(the_oldest_that_have_ended_go_first) {
  table *t = NULL;
  cay_error err;
  EXPECT_EQ(table_new(2, 1 << 20, &t, &err), CAY_OK);
  char ids[4][EXECUTION_ID];
  execution *all[4];
  for (int i = 0; i < 4; i++) {
    all[i] = add(t, false);
    memcpy(ids[i], all[i]->id, sizeof ids[i]);
  }
  for (int i = 1; i < 4; i++) end(t, all[i]);
  EXPECT(has(t, ids[0]) && !has(t, ids[1]) && has(t, ids[2]) && has(t, ids[3]));
  int seen = 0;
  table_each(t, count, &seen);
  EXPECT_EQ(seen, 2);
  EXPECT(!has(t, "") && !has(t, "nothing"));
  table_free(t);
}

TEST(what_survives_is_let_go_at_its_end) {
  table *t = NULL;
  cay_error err;
  EXPECT_EQ(table_new(10, 1 << 20, &t, &err), CAY_OK);
  execution *e = add(t, true);
  char id[EXECUTION_ID];
  memcpy(id, e->id, sizeof id);
  EXPECT(has(t, id));
  end(t, e);
  EXPECT(!has(t, id));
  table_free(t);
}
