/* talk.h - a server whose replies can be read, for tests: lines go in directly, answers come out of a pipe.
 */
#pragma once

#include "fake_cay.h"
#include "serve/server.h"
#include "test.h"

typedef struct talk {
  server server;
  int replies;        /* the reading end */
  char held[1 << 17]; /* read, and not yet heard */
  size_t held_len;
  char line[1 << 17]; /* the last one heard */
  int lost;           /* answers that the log says were lost */
  int ignored;        /* responses to nothing */
  int alive;          /* in the library, before */
  bool goes_on;       /* what server_line said last */
} talk;

void talk_open(talk *t);
void talk_open_with_sandbox(talk *t); /* create is done */
void talk_close(talk *t);             /* and nothing of the library is left */

/* A request line; with the parameters' braces: say(&t, 7, "run", "{\"command\":\"exit 3\"}"). */
void say(talk *t, int id, const char *method, const char *params);
void say_line(talk *t, const char *line);

/* The next line without its end, borrowed until the next; fails the test when none comes. */
const char *hear(talk *t);

/* say, and hear. */
const char *ask(talk *t, int id, const char *method, const char *params);

/* Nothing was said until now. */
bool is_silent(talk *t);
