/* ask_test.c - requests of the server to its client: answers in any order, none twice, none lost. */
#include "serve/client_request.h"
#include "talk.h"

#include <unistd.h>

/* What a caller was told. */
typedef struct ear {
  int times;
  enum ask_end end;
  int64_t code;
  char text[64];
  bool answered; /* with a value */
} ear;

static void listen(void *ctx, const ask_answer *answer) {
  ear *e = ctx;
  e->times++;
  e->end = answer->end;
  e->code = answer->code;
  e->answered = answer->value != NULL;
  const char *text = yyjson_is_str(answer->value) ? yyjson_get_str(answer->value) : answer->message;
  (void)snprintf(e->text, sizeof e->text, "%s", text);
}

static serve_box *only_box(talk *t) { return CONTAINER_OF(t->server.boxes.next, serve_box, in_server); }

static cay_status ask_client(talk *t, ear *e, uint64_t *number) {
  cay_error err;
  yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
  yyjson_mut_val *params = yyjson_mut_obj(doc);
  if (params == NULL || !yyjson_mut_obj_add_int(doc, params, "x", 7)) {
    yyjson_mut_doc_free(doc);
    return CAY_NO_MEMORY;
  }
  yyjson_mut_doc_set_root(doc, params);
  cay_status status = serve_ask(only_box(t), "tool.call", doc, listen, e, number, &err);
  yyjson_mut_doc_free(doc);
  return status;
}

TEST(a_request_of_the_server_has_an_id_of_its_own) {
  talk t;
  ear e = { 0 };
  uint64_t number = 0;
  talk_open_with_sandbox(&t);
  EXPECT_EQ(ask_client(&t, &e, &number), CAY_OK);
  EXPECT_EQ(number, 1);
  EXPECT_TEXT(hear(&t),
              "{\"jsonrpc\":\"2.0\",\"id\":\"cay-1\",\"method\":\"tool.call\",\"params\":{\"x\":7}}");
  EXPECT_EQ(e.times, 0);
  say_line(&t, "{\"jsonrpc\":\"2.0\",\"id\":\"cay-1\",\"result\":\"yes\"}");
  EXPECT_EQ(e.times, 1);
  EXPECT_EQ(e.end, ASK_RESULT);
  EXPECT_TEXT(e.text, "yes");
  EXPECT(is_silent(&t));
  talk_close(&t);
}

TEST(answers_come_in_any_order_between_other_calls) {
  enum { ASKS = 5 };
  static const int ORDER[ASKS] = { 3, 5, 1, 2, 4 };
  talk t;
  ear e[ASKS] = { 0 };
  char line[100];
  talk_open_with_sandbox(&t);
  say(&t, 1, "run", "{\"command\":\"wait\"}");
  for (int i = 0; i < ASKS; i++) {
    EXPECT_EQ(ask_client(&t, &e[i], NULL), CAY_OK);
    (void)hear(&t);
  }
  for (int i = 0; i < ASKS; i++) {
    (void)snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":\"cay-%d\",\"result\":\"%d\"}", ORDER[i],
                   ORDER[i]);
    say_line(&t, line);
    EXPECT(strstr(ask(&t, 2, "env.get", "{\"name\":\"X\"}"), "\"value\":null") != NULL);
  }
  for (int i = 0; i < ASKS; i++) {
    EXPECT_EQ(e[i].times, 1);
    EXPECT_EQ(atoi(e[i].text), i + 1);
  }
  talk_close(&t);
}

TEST(an_error_of_the_client_is_an_answer) {
  static const struct {
    const char *error, *text;
    int64_t code;
  } CASES[] = { { "{\"code\":7,\"message\":\"no\"}", "no", 7 },
                { "{\"code\":-32601,\"message\":\"what?\",\"data\":[1]}", "what?", -32601 },
                { "{}", "", RPC_INTERNAL },
                { "{\"code\":\"7\",\"message\":1}", "", RPC_INTERNAL },
                { "[]", "", RPC_INTERNAL },
                { "{\"code\":1e400}", "", RPC_INTERNAL } };
  talk t;
  char line[200];
  talk_open_with_sandbox(&t);
  for (size_t i = 0; i < COUNT_OF(CASES); i++) {
    ear e = { 0 };
    EXPECT_EQ(ask_client(&t, &e, NULL), CAY_OK);
    (void)hear(&t);
    (void)snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":\"cay-%zu\",\"error\":%s}", i + 1,
                   CASES[i].error);
    say_line(&t, line);
    EXPECT_EQ(e.times, 1);
    EXPECT_EQ(e.end, ASK_ERROR);
    EXPECT(e.answered);
    EXPECT_EQ(e.code, CASES[i].code);
    EXPECT_TEXT(e.text, CASES[i].text);
  }
  talk_close(&t);
}

TEST(unexpected_response_is_ignored_and_logged) {
  static const char *const IDS[] = {
    "1",          "null",       "\"cay-\"",         "\"cay-0\"",
    "\"cay-2\"",  "\"cay-01\"", "\"cay-1 \"",       "\"CAY-1\"",
    "\"cay-+1\"", "\"cay--1\"", "\"cay-1\\u0000\"", "\"cay-99999999999999999999999\""
  };
  talk t;
  ear e = { 0 };
  char line[200];
  talk_open_with_sandbox(&t);
  EXPECT_EQ(ask_client(&t, &e, NULL), CAY_OK);
  (void)hear(&t);
  for (size_t i = 0; i < COUNT_OF(IDS); i++) {
    (void)snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":0}", IDS[i]);
    say_line(&t, line);
    EXPECT_EQ(t.ignored, (int)i + 1);
  }
  EXPECT_EQ(e.times, 0);
  say_line(&t, "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0063ay-1\",\"result\":null}"); /* the same text */
  EXPECT_EQ(e.times, 1);
  EXPECT(e.answered);
  say_line(&t, "{\"jsonrpc\":\"2.0\",\"id\":\"cay-1\",\"result\":0}");
  EXPECT_EQ(e.times, 1);
  EXPECT_EQ(t.ignored, (int)COUNT_OF(IDS) + 1);
  EXPECT(is_silent(&t));
  talk_close(&t);
}

TEST(a_cancelled_request_is_told_and_its_answer_ignored) {
  talk t;
  ear e = { 0 };
  uint64_t number = 0;
  talk_open_with_sandbox(&t);
  EXPECT_EQ(ask_client(&t, &e, &number), CAY_OK);
  (void)hear(&t);
  EXPECT(serve_ask_cancel(&t.server, number));
  EXPECT_EQ(e.times, 1);
  EXPECT_EQ(e.end, ASK_CANCELLED);
  EXPECT_TEXT(hear(&t),
              "{\"jsonrpc\":\"2.0\",\"method\":\"request.cancelled\",\"params\":{\"id\":\"cay-1\"}}");
  EXPECT(!serve_ask_cancel(&t.server, number));
  say_line(&t, "{\"jsonrpc\":\"2.0\",\"id\":\"cay-1\",\"result\":0}");
  EXPECT_EQ(e.times, 1);
  EXPECT_EQ(t.ignored, 1);
  talk_close(&t);
}

TEST(so_many_wait_and_no_more) {
  static ear e[ASKS_MAX + 1];
  talk t;
  memset(e, 0, sizeof e);
  talk_open_with_sandbox(&t);
  for (int i = 0; i < ASKS_MAX; i++) {
    EXPECT_EQ(ask_client(&t, &e[i], NULL), CAY_OK);
    (void)hear(&t);
  }
  EXPECT_EQ(ask_client(&t, &e[ASKS_MAX], NULL), CAY_LIMIT);
  say_line(&t, "{\"jsonrpc\":\"2.0\",\"id\":\"cay-9\",\"result\":0}");
  EXPECT_EQ(ask_client(&t, &e[ASKS_MAX], NULL), CAY_OK);
  talk_close(&t);
  for (int i = 0; i <= ASKS_MAX; i++) EXPECT_EQ(e[i].times, 1);
}

TEST(the_end_of_a_sandbox_answers_what_it_asked_alone) {
  talk t;
  ear mine = { 0 }, other = { 0 };
  talk_open_with_sandbox(&t);
  EXPECT_EQ(ask_client(&t, &mine, NULL), CAY_OK);
  (void)hear(&t);
  serve_box *first = only_box(&t);
  (void)ask(&t, 1, "create", "{\"id\":\"b\"}");
  EXPECT(strstr(ask(&t, 2, "destroy", "{}"), "\"ok\":true") != NULL);
  EXPECT_EQ(mine.times, 1);
  EXPECT_EQ(mine.end, ASK_GONE);
  EXPECT(only_box(&t) != first);
  EXPECT_EQ(ask_client(&t, &other, NULL), CAY_OK);
  (void)hear(&t);
  say_line(&t, "{\"jsonrpc\":\"2.0\",\"id\":\"cay-2\",\"result\":0}");
  EXPECT_EQ(other.end, ASK_RESULT);
  talk_close(&t);
}

TEST(kill_answers_them_all_and_nothing_can_be_asked_after_it) {
  talk t;
  ear e = { 0 }, late = { 0 };
  talk_open_with_sandbox(&t);
  EXPECT_EQ(ask_client(&t, &e, NULL), CAY_OK);
  (void)hear(&t);
  (void)ask(&t, 1, "kill", "{}");
  EXPECT_EQ(e.times, 1);
  EXPECT_EQ(e.end, ASK_GONE);
  EXPECT_EQ(ask_client(&t, &late, NULL), CAY_CANCELLED);
  EXPECT_EQ(late.times, 0);
  talk_close(&t);
}

TEST(the_end_of_the_client_answers_them_all) {
  talk t;
  ear e[3] = { 0 };
  talk_open_with_sandbox(&t);
  for (int i = 0; i < 3; i++) EXPECT_EQ(ask_client(&t, &e[i], NULL), CAY_OK);
  talk_close(&t);
  for (int i = 0; i < 3; i++) EXPECT(e[i].times == 1 && e[i].end == ASK_GONE);
}

TEST(request_without_a_reader_fails) {
  talk t;
  ear e = { 0 };
  talk_open_with_sandbox(&t);
  close(t.replies);
  t.replies = dup(STDIN_FILENO); /* for talk_close */
  EXPECT_EQ(ask_client(&t, &e, NULL), CAY_IO);
  EXPECT_EQ(e.times, 0);
  talk_close(&t);
}

/* A guest's thread, which asks and waits for the answer. */
struct asker {
  talk *t;
  pthread_t thread;
  pthread_mutex_t mu;
  pthread_cond_t changed;
  bool over;
  int results, gone, refused;
};

static void wake(void *ctx, const ask_answer *answer) {
  struct asker *a = ctx;
  pthread_mutex_lock(&a->mu);
  a->results += answer->end == ASK_RESULT;
  a->gone += answer->end == ASK_GONE;
  a->over = true;
  pthread_cond_signal(&a->changed);
  pthread_mutex_unlock(&a->mu);
}

static void *keep_asking(void *ctx) {
  struct asker *a = ctx;
  serve_box *box = only_box(a->t);
  for (int i = 0; i < 50 && a->refused == 0; i++) {
    cay_error err;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&JSON_ALLOC);
    yyjson_mut_doc_set_root(doc, yyjson_mut_obj(doc));
    a->over = false;
    if (serve_ask(box, "x", doc, wake, a, NULL, &err) != CAY_OK) a->refused++;
    yyjson_mut_doc_free(doc);
    pthread_mutex_lock(&a->mu);
    while (!a->over && a->refused == 0) pthread_cond_wait(&a->changed, &a->mu);
    pthread_mutex_unlock(&a->mu);
  }
  return NULL;
}

static void start(struct asker *a, talk *t) {
  *a = (struct asker){ .t = t };
  pthread_mutex_init(&a->mu, NULL);
  pthread_cond_init(&a->changed, NULL);
  EXPECT_EQ(pthread_create(&a->thread, NULL, keep_asking, a), 0);
}

static void finish(struct asker *a) {
  pthread_join(a->thread, NULL);
  pthread_mutex_destroy(&a->mu);
  pthread_cond_destroy(&a->changed);
}

static void answer_one(talk *t) {
  char line[100];
  int number = 0;
  EXPECT_EQ(sscanf(hear(t), "{\"jsonrpc\":\"2.0\",\"id\":\"cay-%d\"", &number), 1);
  (void)snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":\"cay-%d\",\"result\":{}}", number);
  say_line(t, line);
}

TEST(threads_ask_at_once_and_each_gets_its_answer) {
  enum { ASKERS = 4 };
  talk t;
  struct asker a[ASKERS];
  talk_open_with_sandbox(&t);
  for (int i = 0; i < ASKERS; i++) start(&a[i], &t);
  for (int i = 0; i < ASKERS * 50; i++) answer_one(&t);
  for (int i = 0; i < ASKERS; i++) {
    finish(&a[i]);
    EXPECT_EQ(a[i].results, 50);
  }
  talk_close(&t);
}

TEST(threads_that_wait_for_answers_do_not_hold_up_the_end) {
  enum { ASKERS = 4 };
  talk t;
  struct asker a[ASKERS];
  talk_open_with_sandbox(&t);
  for (int i = 0; i < ASKERS; i++) start(&a[i], &t);
  for (int i = 0; i < 20; i++) answer_one(&t);
  asks_end(&t.server, NULL);
  for (int i = 0; i < ASKERS; i++) {
    finish(&a[i]);
    EXPECT_EQ(a[i].refused, 1);
    EXPECT(a[i].gone <= 1);
  }
  talk_close(&t);
}

TEST(every_failure_of_memory_while_asking_is_an_answer_or_an_error) {
  talk t;
  AT_EVERY_FAULT {
    ear e = { 0 };
    uint64_t number = 0;
    mem_fail_at(0);
    talk_open_with_sandbox(&t);
    mem_fail_at(fault_);
    cay_status status = ask_client(&t, &e, &number);
    if (status == CAY_OK) EXPECT(serve_ask_cancel(&t.server, number));
    bool failed = mem_has_failed();
    mem_fail_at(0);
    EXPECT_EQ(e.times, status == CAY_OK ? 1 : 0);
    EXPECT(status == CAY_OK || status == CAY_NO_MEMORY);
    talk_close(&t);
    if (!failed) break;
  }
}
