/* ws_git.c - any bytes are the records of cay-git: they make files below their folder and nowhere else, or have a problem with a message.
 * Guests: $CAY_GUESTS, or build/guest. */
#include "workspace/client.h"

#include "input.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static cay_ws *ws;

static void open_workspaces(void) {
  cay_engine *engine = NULL;
  const char *guests = getenv("CAY_GUESTS");
  cay_engine_options options =
      CAY_INIT(cay_engine_options, .guest_dir = guests != NULL ? guests : "build/guest");
  if (ws != NULL) return;
  must(cay_engine_new(&options, &engine, NULL) == CAY_OK);
  must(cay_ws_open(&CAY_INIT(cay_ws_options, .engine = engine), &ws, NULL) == CAY_OK);
}

static bool only_the_folder(void *ctx, const char *name, const cay_stat *stat) {
  (void)ctx, (void)stat;
  must(strcmp(name, "r") == 0 || strcmp(name, "witness") == 0);
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
  char handle[CAY_WS_ID_MAX];
  cay_ws_session *s = NULL;
  cay_error err = { .status = CAY_OK };
  const cay_limits limits = CAY_INIT(cay_limits, .disk = 1 << 20, .files = 1000);
  const cay_ws_entry witness =
      CAY_INIT(cay_ws_entry, .kind = CAY_WS_FILE, .path = "witness", .content = { "w", 1 });
  const cay_ws_manifest manifest =
      CAY_INIT(cay_ws_manifest, .entries = &witness, .entry_count = 1, .limits = &limits);
  open_workspaces();
  int fd = memfd_create("records", MFD_CLOEXEC);
  must(fd >= 0 && write(fd, data, len) == (ssize_t)len && lseek(fd, 0, SEEK_SET) == 0);
  must(cay_ws_provision(ws, &manifest, handle, NULL) == CAY_OK);
  must(cay_ws_start(ws, handle, &s, NULL) == CAY_OK);
  cay_status status = ws_git_records(ws, s, fd, &err);
  must(status == CAY_OK || (err.status == status && err.message[0] != '\0'));
  (void)close(fd);
  cay_buf got = { 0 };
  must(cay_ws_read_file(s, "witness", &got, NULL) == CAY_OK && got.len == 1);
  cay_buf_free(&got);
  must(cay_ws_list_dir(s, ".", only_the_folder, NULL, NULL) == CAY_OK);
  cay_ws_session_free(s);
  must(cay_ws_stop(ws, handle, NULL) == CAY_OK);
  return 0;
}
