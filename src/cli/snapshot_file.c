/* snapshot_file.c - snapshots and archives as files of this machine. */
#include "cli/snapshot.h"

#include "cli/say.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

cay_snapshot *snapshot_open(cay_engine *engine, const char *path, const char *place) {
  cay_error err = { 0 };
  cay_snapshot *snapshot = NULL;
  int fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    say("cannot read %s: %s", path, strerror(errno));
    return NULL;
  }
  cay_snapshot_load_options options = CAY_INIT(cay_snapshot_load_options, .path = place);
  if (cay_snapshot_load_fd(engine, &options, fd, &snapshot, &err) != CAY_OK) say("%s: %s", path, err.message);
  if (fd != STDIN_FILENO) (void)close(fd);
  return snapshot;
}

static bool store_to(const cay_snapshot *snapshot, const char *path, const cay_snapshot_save_options *options,
                     int fd) {
  cay_error err = { 0 };
  if (cay_snapshot_save_fd(snapshot, options, fd, &err) == CAY_OK) return true;
  say("%s: %s", path, err.message);
  return false;
}

bool snapshot_store(const cay_snapshot *snapshot, const char *path,
                    const cay_snapshot_save_options *options) {
  if (strcmp(path, "-") == 0) return store_to(snapshot, "standard output", options, STDOUT_FILENO);
  char *beside = NULL;
  if (asprintf(&beside, "%s.XXXXXX", path) < 0) {
    say("out of memory");
    return false;
  }
  int fd = mkostemp(beside, O_CLOEXEC);
  bool stored = fd >= 0 && store_to(snapshot, path, options, fd);
  if (fd < 0) say("cannot write %s: %s", path, strerror(errno));
  if (stored && (fsync(fd) != 0 || rename(beside, path) != 0)) {
    say("cannot write %s: %s", path, strerror(errno));
    stored = false;
  }
  if (!stored && fd >= 0) (void)unlink(beside);
  if (fd >= 0) (void)close(fd);
  free(beside);
  return stored;
}

bool snapshot_keep(cay_sandbox *box, const char *path) {
  cay_error err = { 0 };
  cay_snapshot *snapshot = NULL;
  cay_snapshot_options wait = CAY_INIT(cay_snapshot_options, .running = CAY_RUNNING_WAIT, .wait_ms = 5000);
  if (cay_snapshot_take(box, &wait, &snapshot, &err) != CAY_OK) {
    say("--save-snapshot: %s", err.message);
    return false;
  }
  bool stored = snapshot_store(snapshot, path, NULL);
  cay_snapshot_free(snapshot);
  return stored;
}
