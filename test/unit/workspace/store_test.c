/* store_test.c - the store of a folder: committed records are there, and nothing else, whatever happens in between.
 *
 * The calls by which our code and SQLite change the disk go through wrappers (the linker's --wrap). A child process is killed
 * at the n-th of them, or gets ENOSPC there, for every n; then the store is opened again and checked. */
#include "base/error.h"
#include "workspace/store.h"
#include "ws.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static cay_error err;

/* ---- faults of the disk ---- */

enum disk_fault { DISK_FINE, DISK_KILL, DISK_FULL };
static enum disk_fault fault_kind;
static int fault_at, fault_seen;

static bool disk_fails(void) {
  if (fault_kind == DISK_FINE || ++fault_seen < fault_at) return false;
  if (fault_kind == DISK_KILL) (void)raise(SIGKILL);
  errno = ENOSPC;
  return true;
}

#define WRAP(type, name, params, args)                                                                       \
  type __real_##name params;                                                                                 \
  type __wrap_##name params;                                                                                 \
  type __wrap_##name params { return disk_fails() ? (type) - 1 : __real_##name args; }

WRAP(ssize_t, write, (int fd, const void *at, size_t len), (fd, at, len))
WRAP(ssize_t, pwrite64, (int fd, const void *at, size_t len, off64_t off), (fd, at, len, off))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, ftruncate64, (int fd, off64_t len), (fd, len))
WRAP(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
WRAP(int, unlinkat, (int dir, const char *name, int flags), (dir, name, flags))
WRAP(int, mkdirat, (int dir, const char *name, mode_t mode), (dir, name, mode))

/* ---- contents and records ---- */

typedef struct bytes_source {
  const uint8_t *at;
  size_t len;
} bytes_source;

static cay_status source_read(void *ctx, void *to, size_t cap, size_t *len, cay_error *why) {
  bytes_source *s = ctx;
  (void)why;
  *len = s->len < cap ? s->len : cap;
  if (*len > 0) memcpy(to, s->at, *len);
  s->at += *len;
  s->len -= *len;
  return CAY_OK;
}

static digest put(ws_store *s, const void *data, size_t len, cay_status *status) {
  bytes_source source = { data, len };
  digest name = digest_of(data, len);
  if (*status == CAY_OK) *status = s->ops->put(s, &name, len, source_read, &source, &err);
  return name;
}

/* `size` bytes that `seed` decides. */
static uint8_t *bytes_of(unsigned seed, size_t size) {
  static uint8_t bytes[300000];
  for (size_t i = 0; i < size; i++) bytes[i] = (uint8_t)((seed + i / 7) * 31 + i % 251);
  return bytes;
}

/* A record with a small, a large and a shared content, and a list as its tree. */
static cay_status keep(ws_store *s, ws_table table, const char *id, unsigned seed) {
  digest names[4];
  char list[64];
  cay_status status = s->ops->begin(s, &err);
  if (status != CAY_OK) return status;
  names[0] = put(s, bytes_of(seed, 100), 100, &status);
  names[1] = put(s, bytes_of(seed, 100000), 100000, &status);
  names[2] = put(s, bytes_of(0, 70000), 70000, &status);
  (void)snprintf(list, sizeof list, "tree %u", seed);
  names[3] = put(s, list, strlen(list), &status);
  ws_record record = { .tree = names[3],
                       .files = 3,
                       .len = 170100,
                       .created_ns = (int64_t)seed,
                       .config = (char *)(uintptr_t)"{}" };
  (void)snprintf(record.id, sizeof record.id, "%s", id);
  if (status == CAY_OK) status = s->ops->commit(s, table, &record, names, 4, &err);
  if (status != CAY_OK) s->ops->rollback(s);
  return status;
}

static cay_status sink_add(void *ctx, cay_slice bytes, cay_error *why) {
  (void)why;
  return buf_append(ctx, bytes.data, bytes.len);
}

/* Whether all of what `keep` kept is there. */
static bool is_whole(ws_store *s, ws_table table, const char *id, unsigned seed) {
  OWNED(ws_record_free) ws_record record = { 0 };
  const size_t sizes[] = { 100, 100000 };
  char list[64];
  (void)snprintf(list, sizeof list, "tree %u", seed);
  digest tree = digest_of(list, strlen(list));
  if (s->ops->find(s, table, id, &record, &err) != CAY_OK || !digest_equal(&record.tree, &tree)) return false;
  for (size_t i = 0; i < COUNT_OF(sizes); i++) {
    OWNED(buf_free) buf got = BUF_INIT(BUF_UNLIMITED);
    digest name = digest_of(bytes_of(seed, sizes[i]), sizes[i]);
    if (s->ops->get(s, &name, sink_add, &got, &err) != CAY_OK || got.len != sizes[i]) return false;
  }
  digest shared = digest_of(bytes_of(0, 70000), 70000);
  OWNED(buf_free) buf got = BUF_INIT(BUF_UNLIMITED);
  return s->ops->get(s, &shared, sink_add, &got, &err) == CAY_OK && got.len == 70000;
}

static ws_store *open_store(const char *path) {
  ws_store *s = NULL;
  if (ws_folder_open(path, &s, &err) != CAY_OK)
    test_fail_text(__FILE__, __LINE__, "a store", "", err.message);
  return s;
}

static char problems_text[2000];
static void note_problem(void *ctx, const char *line) {
  (void)ctx;
  size_t len = strlen(problems_text);
  (void)snprintf(problems_text + len, sizeof problems_text - len, "%s\n", line);
}

static size_t problems(ws_store *s, bool repair) {
  size_t count = 0;
  problems_text[0] = '\0';
  EXPECT_EQ(s->ops->fsck(s, repair, note_problem, NULL, &count, &err), CAY_OK);
  return count;
}

/* Files below contents/. */
static int content_files(const char *path) {
  char command[9000];
  (void)snprintf(command, sizeof command, "find %s/contents -type f | wc -l", path);
  FILE *f = popen(command, "r");
  int count = -1;
  EXPECT(f != NULL && fscanf(f, "%d", &count) == 1);
  (void)pclose(f);
  return count;
}

TEST(a_record_is_there_after_its_store_was_closed) {
  const char *path = ws_store_path();
  ws_store *s = open_store(path);
  EXPECT_EQ(keep(s, WS_SNAPSHOTS, "snap-1", 1), CAY_OK);
  s->ops->free(s);
  s = open_store(path);
  EXPECT(is_whole(s, WS_SNAPSHOTS, "snap-1", 1));
  EXPECT_EQ(problems(s, false), 0);
  s->ops->free(s);
}

TEST(equal_contents_are_kept_once_and_removed_with_their_last_record) {
  const char *path = ws_store_path();
  ws_store *s = open_store(path);
  EXPECT_EQ(keep(s, WS_SNAPSHOTS, "snap-1", 1), CAY_OK);
  EXPECT_EQ(content_files(path), 2);
  EXPECT_EQ(keep(s, WS_SNAPSHOTS, "snap-2", 1), CAY_OK);
  EXPECT_EQ(content_files(path), 2);
  EXPECT_EQ(keep(s, WS_SNAPSHOTS, "snap-3", 3), CAY_OK);
  EXPECT_EQ(content_files(path), 3);
  EXPECT_EQ(s->ops->remove(s, WS_SNAPSHOTS, "snap-1", &err), CAY_OK);
  EXPECT(is_whole(s, WS_SNAPSHOTS, "snap-2", 1));
  EXPECT_EQ(s->ops->remove(s, WS_SNAPSHOTS, "snap-2", &err), CAY_OK);
  EXPECT_EQ(content_files(path), 2);
  EXPECT(is_whole(s, WS_SNAPSHOTS, "snap-3", 3));
  EXPECT_EQ(s->ops->remove(s, WS_SNAPSHOTS, "snap-3", &err), CAY_OK);
  EXPECT_EQ(content_files(path), 0);
  EXPECT_EQ(s->ops->remove(s, WS_SNAPSHOTS, "snap-3", &err), CAY_NOT_FOUND);
  EXPECT_EQ(problems(s, false), 0);
  s->ops->free(s);
}

TEST(a_session_is_replaced_in_one_step) {
  const char *path = ws_store_path();
  ws_store *s = open_store(path);
  EXPECT_EQ(keep(s, WS_SESSIONS, "session-1", 1), CAY_OK);
  EXPECT_EQ(keep(s, WS_SESSIONS, "session-1", 2), CAY_OK);
  EXPECT(is_whole(s, WS_SESSIONS, "session-1", 2));
  EXPECT_EQ(content_files(path), 2);
  s->ops->free(s);
}

TEST(contents_are_compared_with_their_digest_when_kept_and_when_read) {
  const char *path = ws_store_path();
  char command[9000];
  ws_store *s = open_store(path);
  OWNED(buf_free) buf got = BUF_INIT(BUF_UNLIMITED);
  bytes_source other = { bytes_of(2, 50000), 50000 };
  digest name = digest_of(bytes_of(1, 50000), 50000);
  EXPECT_EQ(s->ops->begin(s, &err), CAY_OK);
  other.at = bytes_of(2, 50000);
  EXPECT_EQ(s->ops->put(s, &name, 50000, source_read, &other, &err), CAY_CORRUPT);
  s->ops->rollback(s);
  EXPECT_EQ(keep(s, WS_SNAPSHOTS, "snap-1", 1), CAY_OK);
  name = digest_of(bytes_of(1, 100000), 100000);
  (void)snprintf(
      command, sizeof command,
      "for f in $(find %s/contents -type f); do printf X | dd of=$f bs=1 seek=5000 conv=notrunc status=none; done",
      path);
  EXPECT_EQ(system(command), 0);
  EXPECT_EQ(s->ops->get(s, &name, sink_add, &got, &err), CAY_CORRUPT);
  EXPECT_EQ(problems(s, false), 3); /* two contents, one snapshot */
  EXPECT(strstr(problems_text, "snapshot snap-1 has lost files\n") != NULL);
  EXPECT_EQ(problems(s, true), 3);
  EXPECT_EQ(problems(s, false), 0);
  EXPECT(!is_whole(s, WS_SNAPSHOTS, "snap-1", 1));
  EXPECT_EQ(content_files(path), 0);
  s->ops->free(s);
}

TEST(a_claim_is_held_by_one_at_a_time) {
  const char *path = ws_store_path();
  ws_store *a = open_store(path), *b = open_store(path);
  ws_claim *one = NULL, *two = NULL;
  EXPECT_EQ(a->ops->claim(a, "session-1", false, &one, &err), CAY_NOT_FOUND);
  EXPECT_EQ(keep(a, WS_SESSIONS, "session-1", 1), CAY_OK);
  EXPECT_EQ(a->ops->claim(a, "session-1", false, &one, &err), CAY_OK);
  EXPECT_EQ(b->ops->claim(b, "session-1", false, &two, &err), CAY_BUSY);
  a->ops->release(a, one, false);
  EXPECT_EQ(b->ops->claim(b, "session-1", false, &two, &err), CAY_OK);
  b->ops->release(b, two, true);
  EXPECT_EQ(a->ops->claim(a, "../../etc/passwd", false, &one, &err), CAY_NOT_FOUND);
  a->ops->free(a);
  b->ops->free(b);
}

TEST(folders_that_are_none_of_ours_are_refused) {
  const char *path = ws_store_path();
  char command[9000];
  ws_store *s = NULL;
  EXPECT_EQ(ws_folder_open("/proc/nowhere", &s, &err), CAY_IO);
  (void)snprintf(
      command, sizeof command,
      "mkdir -p %s && echo 'this is not a database, but long enough to be looked at as one ' > %s/cay.db",
      path, path);
  EXPECT_EQ(system(command), 0);
  EXPECT_EQ(ws_folder_open(path, &s, &err), CAY_CORRUPT);
}

static void child_writes(const char *path, int number) {
  ws_store *s = open_store(path);
  char id[32];
  for (unsigned i = 0; i < 20; i++) {
    (void)snprintf(id, sizeof id, "snap-%d-%u", number, i);
    if (keep(s, WS_SNAPSHOTS, id, i % 5) != CAY_OK) _exit(1);
    if (i % 2 == 0 && s->ops->remove(s, WS_SNAPSHOTS, id, &err) != CAY_OK) _exit(2);
  }
  s->ops->free(s);
  _exit(0);
}

TEST(several_processes_write_at_once) {
  const char *path = ws_store_path();
  pid_t children[4];
  for (int i = 0; i < 4; i++)
    if ((children[i] = fork()) == 0) child_writes(path, i);
  for (int i = 0; i < 4; i++) {
    int status = -1;
    EXPECT_EQ(waitpid(children[i], &status, 0), children[i]);
    EXPECT_EQ(status, 0);
  }
  ws_store *s = open_store(path);
  EXPECT_EQ(problems(s, false), 0);
  EXPECT_EQ(content_files(path), 6); /* five, and the shared one */
  s->ops->free(s);
}

/* ---- crashes ---- */

/* What happens to a store that has the snapshot `kept` and the session `held`: one snapshot more, one less, the session again.
 * *done says how many steps have returned. */
static int steps(const char *path, int *done) {
  ws_store *s = NULL;
  if (ws_folder_open(path, &s, &err) != CAY_OK) return 1;
  cay_status status = keep(s, WS_SNAPSHOTS, "added", 2);
  if (status == CAY_OK) *done = 1, status = s->ops->remove(s, WS_SNAPSHOTS, "gone", &err);
  if (status == CAY_OK) *done = 2, status = keep(s, WS_SESSIONS, "held", 5);
  if (status == CAY_OK) *done = 3;
  fault_kind = DISK_FINE;
  s->ops->free(s);
  return status == CAY_OK ? 0 : 1;
}

static void make_fresh(const char *path) {
  char command[9000];
  (void)snprintf(command, sizeof command, "rm -rf %s", path);
  EXPECT_EQ(system(command), 0);
  ws_store *s = open_store(path);
  EXPECT_EQ(keep(s, WS_SNAPSHOTS, "kept", 1), CAY_OK);
  EXPECT_EQ(keep(s, WS_SNAPSHOTS, "gone", 3), CAY_OK);
  EXPECT_EQ(keep(s, WS_SESSIONS, "held", 4), CAY_OK);
  s->ops->free(s);
}

static bool is_gone(ws_store *s, const char *id) {
  OWNED(ws_record_free) ws_record record = { 0 };
  return s->ops->find(s, WS_SNAPSHOTS, id, &record, &err) == CAY_NOT_FOUND;
}

/* Each step is done or not done, what returned is done, and a check finds at most files that belong to nothing. */
static void check_after(const char *path, int done) {
  ws_store *s = open_store(path);
  EXPECT(is_whole(s, WS_SNAPSHOTS, "kept", 1));
  bool added = is_whole(s, WS_SNAPSHOTS, "added", 2), gone = is_gone(s, "gone"),
       again = is_whole(s, WS_SESSIONS, "held", 5);
  EXPECT(added || is_gone(s, "added"));
  EXPECT(gone || is_whole(s, WS_SNAPSHOTS, "gone", 3));
  EXPECT(again || is_whole(s, WS_SESSIONS, "held", 4));
  EXPECT(added || done < 1);
  EXPECT(gone || done < 2);
  EXPECT(again || done < 3);
  size_t count = problems(s, true);
  size_t lines = 0;
  for (const char *at = problems_text; (at = strstr(at, "belongs to nothing")) != NULL; at++) lines++;
  EXPECT_EQ(lines, count);
  EXPECT_EQ(problems(s, false), 0);
  EXPECT(is_whole(s, WS_SNAPSHOTS, "kept", 1));
  s->ops->free(s);
}

static void at_every_call(enum disk_fault kind) {
  const char *path = ws_store_path();
  int *done = mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT(done != MAP_FAILED);
  int at = 1;
  for (bool more = true; more; at++) {
    make_fresh(path);
    *done = 0;
    pid_t child = fork();
    if (child == 0) {
      fault_seen = 0, fault_at = at, fault_kind = kind;
      _exit(steps(path, done));
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    more = kind == DISK_KILL ? WIFSIGNALED(status) : status != 0;
    check_after(path, *done);
  }
  EXPECT(at > 20);
  (void)munmap(done, sizeof *done);
}

TEST(killed_at_every_change_of_the_disk_a_store_stays_whole) { at_every_call(DISK_KILL); }

TEST(a_disk_that_is_full_from_any_write_on_leaves_the_store_whole) { at_every_call(DISK_FULL); }
