/* doctor.c - `cay doctor`: checks of this machine, and a remedy for each that fails. */
#include "cli/check.h"
#include "cli/commands.h"
#include "cli/json.h"
#include "cli/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
  const char *name;
  check_fn *look;
} checks[] = {
  { "openat2", check_openat2 },
  { "memfd", check_memfd },
  { "address space", check_address_space },
  { "mappings", check_mappings },
  { "open files", check_open_files },
  { "namespaces", check_namespaces }, /* forks: before the engine has threads */
  { "landlock", check_landlock },
  { "seccomp", check_seccomp },
  { "cache", check_cache },
  { "guests", check_guests },
  { "a run", check_run },
};
enum { CHECK_COUNT = sizeof checks / sizeof *checks };

void check_says(check *c, check_level level, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  c->level = level;
  (void)vsnprintf(c->text, sizeof c->text, format, arguments);
  va_end(arguments);
}

void check_advises(check *c, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(c->advice, sizeof c->advice, format, arguments);
  va_end(arguments);
}

static const char *const level_names[] = { [CHECK_OK] = "ok", [CHECK_NOTE] = "note", [CHECK_FAIL] = "FAIL" };

static void doctor_show(const check *c) {
  printf("%-5s %-14s %s\n", level_names[c->level], c->name, c->text);
  if (c->advice[0] != '\0') printf("%20s > %s\n", "", c->advice);
  (void)fflush(stdout);
}

static bool doctor_show_json(const check *all) {
  json *j = json_new();
  if (j == NULL) return false;
  size_t len = 0;
  json_open(j, NULL, '[');
  for (size_t i = 0; i < CHECK_COUNT; i++) {
    json_open(j, NULL, '{');
    json_string(j, "name", all[i].name);
    json_string(j, "level", all[i].level == CHECK_FAIL ? "fail" : level_names[all[i].level]);
    json_bytes(j, "text", all[i].text, strlen(all[i].text));
    json_string(j, "advice", all[i].advice[0] != '\0' ? all[i].advice : NULL);
    json_close(j);
  }
  json_close(j);
  const char *text = json_text(j, &len);
  bool done = text != NULL && say_write(STDOUT_FILENO, text, len);
  json_free(j);
  return done;
}

int command_doctor(int argc, char **argv) {
  bool as_json;
  int code;
  if (!command_flags(argc, argv, &as_json, &code)) return code;
  check all[CHECK_COUNT] = { 0 };
  bool sound = true;
  for (size_t i = 0; i < CHECK_COUNT; i++) {
    all[i].name = checks[i].name;
    checks[i].look(&all[i]);
    if (all[i].level == CHECK_FAIL) sound = false;
    if (!as_json) doctor_show(&all[i]);
  }
  if (as_json && !doctor_show_json(all)) return EXIT_WRONG;
  if (!as_json) printf("\n%s\n", sound ? "cay works here." : "Something does not work: see FAIL above.");
  return sound ? 0 : EXIT_WRONG;
}
