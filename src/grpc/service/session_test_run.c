/* session_test_run.c - the test runner uvu put into a sandbox, and its report as fields of
 * ExecuteTestResponse (session_test_run.h). */
#include "grpc/service/session_test_run.h"

#include "base/alloc.h"
#include "base/error.h"
#include "grpc/service/test_files.h"
#include "grpc/wire/pb.h"

#include <stdio.h>
#include <yyjson.h>

cay_status session_add_uvu(cay_sandbox *box, cay_error *err) {
  for (size_t i = 0; i < test_file_count; i++) {
    char path[128];
    (void)snprintf(path, sizeof path, "/home/agent/node_modules/%s", test_files[i].path);
    S_TRY(cay_file_write(box, path, test_files[i].content, 0, err));
  }
  return CAY_OK;
}

static cay_slice text_of(yyjson_val *object, const char *name) {
  yyjson_val *text = yyjson_obj_get(object, name);
  return (cay_slice){ yyjson_get_str(text), yyjson_get_len(text) };
}

/* TestResult. */
static void put_test(pb_writer *w, yyjson_val *test, bool passed) {
  size_t begun = pb_begin(w, 3);
  pb_put_bytes(w, 1, text_of(test, "name"));
  pb_put_int(w, 2, passed);
  if (!passed) pb_put_bytes_always(w, 3, text_of(test, "error"));
  double ms = yyjson_get_num(yyjson_obj_get(test, "duration"));
  pb_put_int(w, 4, ms > 0 && ms < 1e9 ? (int64_t)ms : 0);
  pb_end(w, begun);
}

static void put_summary(pb_writer *w, int64_t passed, int64_t failed, int64_t skipped) {
  size_t begun = pb_begin(w, 2);
  pb_put_int(w, 1, passed + failed + skipped);
  pb_put_int(w, 2, passed);
  pb_put_int(w, 3, failed);
  pb_put_int(w, 4, skipped);
  pb_end(w, begun);
}

static cay_status put_report(yyjson_val *report, pb_writer *w, cay_error *err) {
  yyjson_val *tests = yyjson_obj_get(report, "tests"), *skips = yyjson_obj_get(report, "skipped"), *test;
  if (!yyjson_is_arr(tests) || !yyjson_is_uint(skips) || yyjson_get_uint(skips) > INT32_MAX)
    return err_set(err, CAY_CORRUPT, "the tests left no report");
  size_t at, count;
  int64_t passed = 0;
  yyjson_arr_foreach(tests, at, count, test) passed += yyjson_is_true(yyjson_obj_get(test, "passed"));
  int64_t failed = (int64_t)count - passed;
  pb_put_int(w, 1, failed == 0 && passed != 0);
  put_summary(w, passed, failed, (int64_t)yyjson_get_uint(skips));
  yyjson_arr_foreach(tests, at, count, test)
      put_test(w, test, yyjson_is_true(yyjson_obj_get(test, "passed")));
  return w->failed == CAY_OK ? CAY_OK : err_no_memory(err);
}

cay_status session_report(cay_slice json, buf *out, cay_error *err) {
  yyjson_doc *doc = json.len != 0 ? yyjson_read(json.data, json.len, 0) : NULL;
  pb_writer w = PB_WRITER(BUF_UNLIMITED);
  cay_status status = put_report(yyjson_doc_get_root(doc), &w, err);
  yyjson_doc_free(doc);
  if (status == CAY_OK)
    *out = w.out;
  else
    buf_free(&w.out);
  return status;
}
