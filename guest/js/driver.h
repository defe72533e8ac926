/* driver.h - the parts of the program that makes QuickJS-ng and Node's library a guest that serves requests.
 *
 * It is at rest between two calls of its exports: nothing of it lives outside of linear memory, so the host may
 * freeze, copy and put back the memory there. Exports, requests and fields: guest/driver/README.md. */
#pragma once

#include <quickjs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "requests.h"

/* runtime.c: the engine, and the object `host` of lib/. */
extern JSContext *js;             /* NULL before runtime_start */
int runtime_start(bool image);    /* to be frozen? -1 after a message on stderr */
void runtime_enter(void);         /* at each entry: the stack may begin elsewhere */
void runtime_hooks_run(bool now); /* hooks of promises have more of the stack than other code */
void runtime_hold_reserve(void);  /* memory for code that catches the error of there being none */
JSValue runtime_call(const char *function, int argc,
                     JSValue *argv);     /* host.FUNCTION(…); takes the arguments */
JSValue runtime_get(const char *name);   /* host.NAME */
JSValue runtime_strings(char **strings); /* ended with NULL */
void runtime_report(const char *doing);  /* the exception that is pending, on stderr */

/* stop.c */
const uintptr_t *cay_stop_words(void);
int stop_wanted(JSRuntime *rt, void *opaque); /* JSInterruptHandler */
void stop_install(void);                      /* once in each process */
void stop_install_interrupt(void); /* of a session: SIGINT without a handler ends its cell with an error */
bool stop_cell_interrupted(void);  /* it has, since the last look */
void (*stop_interrupt_action(void))(int); /* what SIGINT does without a handler */
void stop_forget(void);                   /* what came too late to stop anything */
/* Why what ran was ended: NULL: nothing has; "": it asked for it, with this code. */
const char *stop_ended(int32_t *code);
JSValue stop_leave(int32_t code); /* ends what runs: an exception that cannot be caught */

/* What runs from here on ends after `ms`, or at the limit that is there if that is earlier; returns that one, to be put back. Below 0: no
 * other limit. */
int64_t stop_limit(int64_t ms);
void stop_limit_restore(int64_t before);
void stop_on_interrupt(bool on); /* SIGINT ends what runs in the same way */
bool stop_limit_passed(void);    /* has one of them ended something since the last look? */

/* cell.c: a function for engine_run_cell, or an exception. */
JSValue cell_compile(const field *code, const field *name, bool typescript, bool *async);

/* greet.c */
int greet(fields *request);
void greet_reseed(const char *seed, size_t len); /* without a seed, from the system's randomness */

/* boot.c, main.c: the life of the program. */
int cay_boot(void);
int cay_main(void);
