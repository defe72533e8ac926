/* notebook.c - `cay notebook run`: the cells of a Jupyter notebook in one session of one sandbox, with their outputs. */
#include "cli/notebook.h"

#include "base/text.h"
#include "cli/commands.h"
#include "cli/engine.h"
#include "cli/request.h"
#include "cli/run.h"
#include "cli/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct notebook_run {
  const char *from, *to;
  bool allow_errors;
  const char *language;
  yyjson_mut_doc *doc;
  notebook_ids *ids;
  cay_session *session;
} notebook_run;

static int notebook_refuse(const char *why) {
  say("%s", why);
  say_hint("`cay help notebook` explains");
  return EXIT_USAGE;
}

/* ---- one cell ---- */

/* The source of a cell: a text, or a list of its pieces. Yours (free); NULL: no memory. */
static char *cell_source(yyjson_mut_val *cell) {
  yyjson_mut_val *source = yyjson_mut_obj_get(cell, "source"), *piece;
  if (yyjson_mut_is_str(source)) return strndup(yyjson_mut_get_str(source), yyjson_mut_get_len(source));
  char *text = NULL;
  size_t len = 0;
  FILE *to = open_memstream(&text, &len);
  if (to == NULL) return NULL;
  yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(source);
  while ((piece = yyjson_mut_arr_iter_next(&it)) != NULL)
    (void)fwrite(yyjson_mut_get_str(piece), 1, yyjson_mut_get_len(piece), to);
  return fclose(to) == 0 ? text : NULL;
}

static bool cell_is_code(yyjson_mut_val *cell) {
  return strcmp(yyjson_mut_get_str(yyjson_mut_obj_get(cell, "cell_type")), "code") == 0;
}

/* Cells of nbconvert and nbclient that are meant to fail have this word among their tags. */
static bool cell_may_fail(yyjson_mut_val *cell) {
  yyjson_mut_val *tags = yyjson_mut_obj_get(yyjson_mut_obj_get(cell, "metadata"), "tags"), *tag;
  yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(tags);
  while ((tag = yyjson_mut_arr_iter_next(&it)) != NULL)
    if (yyjson_mut_equals_str(tag, "raises-exception")) return true;
  return false;
}

static bool has_failed(const cay_value *v) {
  return v->outcome == CAY_OUTCOME_EXCEPTION || v->outcome == CAY_OUTCOME_STOPPED ||
         (v->outcome == CAY_OUTCOME_EXIT && v->exit_code != 0);
}

static void say_failure(unsigned number, const cay_value *v) {
  if (v->outcome == CAY_OUTCOME_EXCEPTION) {
    say("code cell %u: %s: %s", number, TEXT_NAME(v->error_type.data),
        v->error_text.len != 0 ? TEXT_NAME(v->error_text.data) : "");
    if (strcmp(v->error_type.data, "SyntaxError") == 0)
      say_hint("lines of IPython that begin with ! or %% are not part of Python, and do not run here");
  } else {
    say("code cell %u ended by %s", number,
        v->outcome == CAY_OUTCOME_EXIT ? "SystemExit" : cay_end_name(v->end));
  }
}

/* Evaluates a cell and writes its outputs. False: the run ends here. */
static bool cell_run(notebook_run *n, yyjson_mut_val *cell, unsigned number) {
  bool python = strcmp(n->language, "python") == 0;
  char *code = cell_source(cell);
  notebook_cell *outputs = notebook_cell_new(n->doc, n->ids, python);
  cay_value *value = NULL;
  cay_error err = { .message = "out of memory" };
  cay_status status = CAY_NO_MEMORY;
  bool failed = false;
  if (code != NULL && outputs != NULL)
    status =
        cay_session_eval(n->session,
                         &CAY_INIT(cay_eval_options, .code = { code, strlen(code) }, .no_json = true,
                                   .no_capture = true, .output = notebook_cell_output, .output_ctx = outputs,
                                   .display = python ? notebook_cell_display : NULL, .display_ctx = outputs),
                         &value, &err);
  free(code);
  if (status == CAY_OK) {
    failed = has_failed(value) && !n->allow_errors && !cell_may_fail(cell);
    if (!notebook_cell_end(outputs, cell, value, number)) status = CAY_NO_MEMORY;
    if (status == CAY_OK && failed) say_failure(number, value);
    cay_value_free(value);
  } else {
    notebook_cell_free(outputs);
  }
  if (status != CAY_OK) say("code cell %u: %s", number, err.message);
  return status == CAY_OK && !failed;
}

/* What an earlier run left does not stand below cells that have not run. */
static void cell_forget(notebook_run *n, yyjson_mut_val *cell) {
  (void)yyjson_mut_obj_put(cell, yyjson_mut_str(n->doc, "outputs"), yyjson_mut_arr(n->doc));
  (void)yyjson_mut_obj_put(cell, yyjson_mut_str(n->doc, "execution_count"), yyjson_mut_null(n->doc));
}

static bool cells_run(notebook_run *n) {
  yyjson_mut_val *cells = yyjson_mut_obj_get(yyjson_mut_doc_get_root(n->doc), "cells"), *cell;
  unsigned number = 0;
  bool going = true;
  yyjson_mut_arr_iter it = yyjson_mut_arr_iter_with(cells);
  while ((cell = yyjson_mut_arr_iter_next(&it)) != NULL) {
    if (!cell_is_code(cell)) continue;
    cell_forget(n, cell);
    if (going) going = cell_run(n, cell, ++number);
  }
  return going;
}

/* ---- the sandbox ---- */

static bool session_run(notebook_run *n, cay_sandbox *box, const request *r) {
  cay_error err = { 0 };
  n->ids = notebook_ids_new();
  cay_status status = cay_session_new(
      box, &CAY_INIT(cay_session_options, .language = n->language, .cwd = r->cwd), &n->session, &err);
  bool fine = status == CAY_OK && n->ids != NULL && cells_run(n);
  if (status != CAY_OK) say("%s", err.message);
  bool copied = run_box_copy_out(box, r);
  cay_session_free(n->session);
  notebook_ids_free(n->ids);
  return notebook_write(n->doc, n->to) && fine && copied;
}

static int notebook_run_request(notebook_run *n, const request *r) {
  run_network network = { .quiet = r->quiet };
  bool fine = false;
  n->doc = notebook_read(n->from);
  n->language = n->doc != NULL ? notebook_language(n->doc) : NULL;
  cay_engine *engine = n->language != NULL ? engine_open_image(r->image) : NULL;
  cay_sandbox *box = engine != NULL ? run_box_new(engine, r, &network) : NULL;
  if (box != NULL && run_box_prepare(box, r)) fine = session_run(n, box, r);
  cay_sandbox_free(box);
  cay_engine_free(engine);
  yyjson_mut_doc_free(n->doc);
  return fine ? 0 : EXIT_WRONG;
}

/* ---- the words ---- */

/* Takes --allow-errors out of the words, wherever it stands in front of the files. */
static int take_allow_errors(int argc, char **argv, bool *allow) {
  int count = 0;
  for (int i = 0; i < argc; i++) {
    if (strcmp(argv[i], "--allow-errors") == 0)
      *allow = true;
    else
      argv[count++] = argv[i];
  }
  return count;
}

/* `words` begin with "run", which the parser of requests does not look at; the last one stands for a command. */
static int with_options(notebook_run *n, int count, char **words) {
  request r;
  cay_error why = { 0 };
  int code = EXIT_USAGE;
  if (request_parse(&r, count, words, &why) != CAY_OK) {
    say("%s", why.message);
    say_hint("`cay help run` shows the options");
  } else if (r.json || r.tty || r.save_snapshot != NULL) {
    code = notebook_refuse("cay notebook takes no --json, --tty or --save-snapshot");
  } else {
    code = notebook_run_request(n, &r);
  }
  request_free(&r);
  return code;
}

int command_notebook(int argc, char **argv) {
  static char run[] = "run", command[] = "true";
  notebook_run n = { 0 };
  if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
    return help_show("notebook") ? 0 : EXIT_WRONG;
  if (argc < 2 || strcmp(argv[1], "run") != 0)
    return notebook_refuse("cay notebook wants run, and two files");
  argc = take_allow_errors(argc - 2, argv + 2, &n.allow_errors);
  int options = request_option_words(argc, argv + 2);
  for (int i = 0; i < options; i++)
    if (strcmp(argv[2 + i], "--help") == 0 || strcmp(argv[2 + i], "-h") == 0)
      return help_show("notebook") ? 0 : EXIT_WRONG;
  if (argc - options != 2)
    return notebook_refuse("cay notebook run wants the notebook, and where the one with outputs goes");
  n.from = argv[2 + options];
  n.to = argv[3 + options];
  char **words = calloc((size_t)options + 3, sizeof *words);
  if (words == NULL) {
    say("out of memory");
    return EXIT_WRONG;
  }
  words[0] = run;
  for (int i = 0; i < options; i++) words[i + 1] = argv[2 + i];
  words[options + 1] = command;
  int code = with_options(&n, options + 2, words);
  free(words);
  return code;
}
