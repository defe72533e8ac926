/* driver.h - the parts of the program that turns CPython into a guest which serves requests.
 *
 * It is at rest between two calls of its exports: nothing of it lives outside of linear memory, so the host
 * may freeze, copy and put back the memory there. The thread state stays attached: other threads go on while a request is served.
 *
 * Exports are described in README.md, requests in src/guest/talk.def. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "requests.h"

#ifdef _REENTRANT
#define HAS_THREADS 1
#else
#define HAS_THREADS 0
#endif

#ifdef __wasm__
#define PYTHON_HOME L"/usr"
#define PYTHON_PROGRAM L"/usr/bin/python3"
#else
#define PYTHON_HOME NULL /* wherever the library is that this is linked with */
#define PYTHON_PROGRAM NULL
#endif

/* boot.c and main.c: the life of the program. */
int cay_boot(void);
int cay_main(void);
int boot_interpreter(void); /* without the libc's own start; 0, or -1 after a message on stderr */

/* greet.c: what a copy of an image must learn. */
int greet_prepare(void); /* before the image is made */
int greet(fields *request);
int greet_reseed(const char *seed, size_t len);        /* without a seed, from the system's randomness */
int greet_reseed_hashes(const char *seed, size_t len); /* likewise; before a copy hashes anything, and once */

/* In the library (guest/recipes/python.d/hash.c). Between the first two, texts that are hashed are noted: they have
 * the same hash in all copies of the image. All others have a new one after the third, of 16 bytes. */
int cay_hash_note(void);
int cay_hash_settle(void);
void cay_hash_reseed(const void *seed);

/* module.c: the module `cay`, and the Python modules that are linked into this program. */
int module_register(void);          /* before the interpreter starts */
PyObject *helper(const char *name); /* the module cay._NAME, borrowed; NULL with an exception */
PyObject *helper_call(const char *name, const char *function, const char *format, ...);
int module_add_builtins(void);   /* display, invoke and list_callbacks, where every module finds them */
extern PyObject *error_callback; /* cay.CallbackError */
extern PyObject *error_stopped;  /* cay.Stopped */

/* execute.c */
void execute(fields *request, reply *r);
void execute_forget_sources(void);                         /* of all cells, which are counted anew */
int execute_keep_source(PyObject *name, PyObject *source); /* for tracebacks */
int execute_forget_value(void);                            /* of the last cell, which `_` names */
PyObject *user_names(void); /* the dictionary of __main__, borrowed; NULL with an exception */

/* kept.c: code of cells that may come again. */
typedef struct {
  PyCodeObject *body, *value; /* either may be NULL */
} cell_code;
/* The code of a cell of this text, with a new name: references. False: there is none that can be used. */
bool kept_find(PyObject *source, const char *text, PyObject *name, cell_code *out);
void kept_add(PyObject *source, const cell_code *code); /* it was compiled while warnings were refused */
void kept_forget(void);
/* Until kept_allow_warnings, which takes the result, each warning is an exception. NULL: the code of this cell is not to be kept. */
PyObject *kept_refuse_warnings(PyObject *source);
void kept_allow_warnings(PyObject *filters); /* an exception that is set stays */

/* report.c: an exception as fields. */
void report_exception(reply *r, PyObject *cell); /* takes the exception that is set; `cell` may be NULL */

/* ask.c, callbacks.c */
int ask_ready(PyObject *module);
PyObject *ask_new(PyObject *name, PyObject *args, bool decode); /* takes both over */
int callbacks_ready(PyObject *module);
int callbacks_refresh(void); /* the host's list has changed */

/* Lets the tasks of the session's event loop run that can run now. It costs nothing when there are none. */
int loop_turn(void);
int loop_ready(PyObject *module);

/* loop.c: runs a cell of which a part awaits. The parts are code objects or None; the value of the second, or
 * NULL with an exception. */
PyObject *loop_run(PyObject *body, PyObject *value);

/* streams.c */
int streams_ready(PyObject *module);
int streams_open(const PyConfig *config, bool session); /* sys.stdin, stdout, stderr, anew */
int streams_begin(const field *input); /* before code runs: nothing is left of an earlier input */
int streams_flush(void);               /* -1: an exception that is to end what runs */
int streams_end(void); /* of a cell: as streams_flush, and the next one has its outputs again */

/* trace.c */
int trace_begin(uint32_t flags, const char *filter, size_t filter_len);
void trace_end(void);

/* state.c */
int state_ready(PyObject *module);
void state_snapshot(reply *r);
void state_restore(fields *request, reply *r);
void state_clear(reply *r);
void state_names(reply *r);

/* stop.c */
const uintptr_t *cay_stop_words(void);
int stop_ready(PyObject *module); /* adds cay._stops(): how often Stopped was raised */
int stop_prepare(void);           /* before the image is made */
void stop_install(void);          /* once in each process */
int stop_settle(void);            /* runs the handlers that are due; -1 with what one of them raised */
void stop_forget(void);           /* signals that came too late for this request */
