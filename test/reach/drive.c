/* drive.c - the capabilities of the network, driven by lines: reach-drive CONFIG < calls > answers
 *
 * CONFIG is tools.settings.sandbox. A call is {"capability":…,"args":…,"timeout_ms":…}; its answer is what a
 * tool would get; with "cancel_ms" it is cancelled after so long. Calls are answered in order. The member
 * "names" of CONFIG stands in for DNS: a name and the lists of addresses that it has, one list for each
 * question, the last one from then on. */
#include "base/alloc.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "net/resolve.h"
#include "tool/capability/net/reach.h"
#include "tool/run/envelope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 16, LINE_MAX_LEN = 1 << 22 };

static struct {
  yyjson_val *names;
  size_t asked[NAMES_MAX];
} dns;

static cay_status resolve(void *ctx, const char *host, int64_t deadline_ns, net_addrs *out, cay_error *err) {
  (void)ctx, (void)deadline_ns, (void)err;
  yyjson_obj_iter it = yyjson_obj_iter_with(dns.names);
  size_t at = 0;
  for (yyjson_val *key; at < NAMES_MAX && (key = yyjson_obj_iter_next(&it)) != NULL; at++) {
    yyjson_val *lists = yyjson_obj_iter_get_val(key);
    if (!yyjson_equals_str(key, host)) continue;
    size_t count = yyjson_arr_size(lists), which = dns.asked[at]++;
    yyjson_arr_iter each = yyjson_arr_iter_with(yyjson_arr_get(lists, which < count ? which : count - 1));
    for (yyjson_val *one; (one = yyjson_arr_iter_next(&each)) != NULL && out->count < NET_ADDRS_MAX;)
      if (net_addr_parse(yyjson_get_str(one), &out->list[out->count])) out->count++;
    return CAY_OK;
  }
  return CAY_NOT_FOUND;
}

static void on_log(void *ctx, enum tool_level level, const char *tool, const char *line) {
  (void)ctx, (void)level;
  fprintf(stderr, "%s: %s\n", tool, line);
}

static void on_alarm(void *ctx) { cancel_raise(ctx); }

static void answer(tool_world *world, alarm_set *alarms, yyjson_val *call) {
  static const char *const all[] = { "http.*", "mcp.*", "github.*", "search.*", "coding.*" };
  yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
  yyjson_mut_val *root = yyjson_mut_obj(doc), *inner = yyjson_mut_obj(doc);
  yyjson_mut_obj_add_str(doc, root, "status", "capability_call");
  yyjson_mut_obj_add_val(doc, root, "capability_call", inner);
  yyjson_mut_obj_add_str(doc, inner, "name", yyjson_get_str(yyjson_obj_get(call, "capability")));
  yyjson_mut_obj_add_val(doc, inner, "args", yyjson_val_mut_copy(doc, yyjson_obj_get(call, "args")));
  yyjson_mut_doc_set_root(doc, root);
  size_t len = 0;
  char *text = yyjson_mut_write(doc, 0, &len);
  buf out = BUF_INIT(BUF_UNLIMITED);
  tool_end end;
  yyjson_val *limit = yyjson_obj_get(call, "timeout_ms");
  world->deadline_ns = limit != NULL ? clock_mono_ns() + yyjson_get_sint(limit) * NS_PER_MS : 0;
  cancel stop;
  alarm_entry alarm = { .fn = on_alarm, .ctx = &stop };
  yyjson_val *when = yyjson_obj_get(call, "cancel_ms");
  int64_t moment = when != NULL ? clock_mono_ns() + yyjson_get_sint(when) * NS_PER_MS : INT64_MAX;
  cancel_init(&stop);
  world->stop = &stop;
  if (alarm_arm(alarms, &alarm, moment, NULL) != CAY_OK) exit(3);
  if (tool_answer(world, &(tool_allow){ all, COUNT_OF(all) }, false, (cay_slice){ text, len }, &out, &end,
                  NULL) != CAY_OK)
    exit(3);
  alarm_disarm(alarms, &alarm);
  cancel_end(&stop);
  puts(buf_text(&out));
  fflush(stdout);
  buf_free(&out);
  free(text);
  yyjson_mut_doc_free(doc);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  yyjson_doc *config = yyjson_read_file(argv[1], 0, NULL, NULL);
  yyjson_val *root = yyjson_doc_get_root(config);
  static const tool_provider environment = { .kind = TOOL_FROM_ENVIRONMENT, .where = "CAY_TEST_" };
  tool_world world = { .tool = "test", .secrets = { .list = &environment, .count = 1 }, .log = on_log };
  tool_reach_options options = { .sandbox = root, .secrets = world.secrets, .log = on_log };
  dns.names = yyjson_obj_get(root, "names");
  if (dns.names != NULL) options.resolver.fn = resolve;
  cay_error err = { 0 };
  if (tool_reach_new(&options, &world.reach, &err) != CAY_OK) {
    printf("{\"status\":\"config\",\"error\":\"%s\"}\n", err.message);
    yyjson_doc_free(config);
    return 0;
  }
  alarm_set *alarms = NULL;
  if (alarm_set_new(&alarms, &err) != CAY_OK) return 3;
  static char line[LINE_MAX_LEN];
  while (fgets(line, sizeof line, stdin) != NULL) {
    yyjson_doc *call = yyjson_read(line, strlen(line), 0);
    if (call == NULL) return 2;
    answer(&world, alarms, yyjson_doc_get_root(call));
    yyjson_doc_free(call);
  }
  tool_reach_free(world.reach);
  alarm_set_free(alarms);
  yyjson_doc_free(config);
  return 0;
}
