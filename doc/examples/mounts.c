/* mounts.c - shows the sandbox directories of this machine, one to read and one to write.
 *
 *   cc mounts.c -lcay -o mounts && ./mounts
 *
 * It prints:
 *   the guest read: a line of the host
 *   the guest could not write there
 *   the host finds: A LINE OF THE HOST
 *   a link that leads out ends in nothing
 */
#include <cay/cay.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_line(const char *path, const char *line) {
  FILE *f = fopen(path, "w");
  bool done = f != NULL && fputs(line, f) >= 0;
  if (f != NULL && fclose(f) != 0) done = false;
  return done;
}

static char folder[] = "/tmp/cay-mounts-XXXXXX";

/* read-only/text and read-only/escape, a link to `secret` outside of it, and an empty folder `results`. */
static bool make_folders(void) {
  return mkdtemp(folder) != NULL && chdir(folder) == 0 && mkdir("read-only", 0755) == 0 &&
         mkdir("results", 0755) == 0 && write_line("secret", "not for the guest\n") &&
         write_line("read-only/text", "a line of the host\n") &&
         symlink("../secret", "read-only/escape") == 0;
}

static void remove_folders(void) {
  static const char *const all[] = { "read-only/text", "read-only/escape", "results/upper", "secret",
                                     "read-only",      "results",          folder };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) (void)remove(all[i]);
}

static cay_status mount(cay_sandbox *box, const char *host, const char *guest, bool writable,
                        cay_error *err) {
  cay_mount_options options = {
    .size = sizeof options, .host_path = host, .path = guest, .writable = writable
  };
  return cay_mount(box, &options, err);
}

static const char *const script =
    "read -r line < /data/text && echo \"the guest read: $line\"\n"
    "echo x 2>/dev/null > /data/text || echo 'the guest could not write there'\n"
    "tr a-z A-Z < /data/text > /results/upper\n";

static void show_result(const cay_result *result) {
  printf("%.*s", (int)result->out.len, (const char *)result->out.data);
  char line[64] = "";
  FILE *f = fopen("results/upper", "r");
  if (f != NULL && fgets(line, sizeof line, f) != NULL) printf("the host finds: %s", line);
  if (f != NULL) (void)fclose(f);
}

int main(void) {
  cay_engine *engine = NULL;
  cay_sandbox *box = NULL;
  cay_result *result = NULL, *escape = NULL;
  cay_error err = { 0 };
  if (!make_folders()) return 1;

  cay_status s = cay_engine_new(NULL, &engine, &err);
  if (s == CAY_OK) s = cay_sandbox_new(engine, NULL, &box, &err);
  if (s == CAY_OK) s = mount(box, "read-only", "/data", false, &err);
  if (s == CAY_OK) s = mount(box, "results", "/results", true, &err);
  if (s == CAY_OK) s = cay_run(box, &CAY_INIT(cay_run_options, .command = script), &result, &err);
  if (s == CAY_OK) show_result(result);

  /* A link inside a mount is resolved by the sandbox, in its own tree, where there is no /secret. */
  const char *follow = "cat /data/escape 2>/dev/null || echo 'a link that leads out ends in nothing'";
  if (s == CAY_OK) s = cay_run(box, &CAY_INIT(cay_run_options, .command = follow), &escape, &err);
  if (s == CAY_OK) printf("%.*s", (int)escape->out.len, (const char *)escape->out.data);
  if (s != CAY_OK) fprintf(stderr, "%s: %s\n", cay_status_name(s), err.message);

  cay_result_free(result);
  cay_result_free(escape);
  cay_sandbox_free(box);
  cay_engine_free(engine);
  remove_folders();
  return s == CAY_OK ? 0 : 1;
}
