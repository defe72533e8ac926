/* guests.c - `cay guests`: the programs every sandbox starts with. */
#include "cli/commands.h"
#include "cli/engine.h"
#include "cli/json.h"
#include "cli/say.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int show_table(cay_engine *engine) {
  size_t count = cay_engine_guests(engine, 0, NULL), names = 0;
  printf("%-24s %9s  %-8s %s\n", "PROGRAM", "KIB", "CODE", "OTHER NAMES");
  for (size_t i = 0; i < count; i++) {
    cay_guest guest;
    (void)cay_engine_guests(engine, i, &guest);
    printf("%-24s %9" PRIu64 "  %-8s %u\n", guest.path, (guest.len + 1023) / 1024,
           guest.precompiled ? "ready" : "missing", guest.link_count);
    names += 1 + guest.link_count;
  }
  printf("\n%zu programs under %zu names, from %s\n", count, names, cay_engine_guest_dir(engine));
  return fflush(stdout) == 0 ? 0 : EXIT_WRONG;
}

static int guests_show_json(cay_engine *engine) {
  json *j = json_new();
  if (j == NULL) return EXIT_WRONG;
  size_t count = cay_engine_guests(engine, 0, NULL), len = 0;
  const char *dir = cay_engine_guest_dir(engine);
  json_open(j, NULL, '{');
  json_bytes(j, "dir", dir, strlen(dir));
  json_open(j, "guests", '[');
  for (size_t i = 0; i < count; i++) {
    cay_guest guest;
    (void)cay_engine_guests(engine, i, &guest);
    json_open(j, NULL, '{');
    json_bytes(j, "path", guest.path, strlen(guest.path));
    json_bytes(j, "module", guest.module, strlen(guest.module));
    json_uint(j, "bytes", guest.len);
    json_bool(j, "precompiled", guest.precompiled);
    json_uint(j, "links", guest.link_count);
    json_close(j);
  }
  json_close(j);
  json_close(j);
  const char *text = json_text(j, &len);
  bool done = text != NULL && say_write(STDOUT_FILENO, text, len);
  json_free(j);
  return done ? 0 : EXIT_WRONG;
}

int command_guests(int argc, char **argv) {
  bool as_json;
  int code;
  if (!command_flags(argc, argv, &as_json, &code)) return code;
  cay_engine *engine = engine_open();
  if (engine == NULL) return EXIT_WRONG;
  code = as_json ? guests_show_json(engine) : show_table(engine);
  cay_engine_free(engine);
  return code;
}
