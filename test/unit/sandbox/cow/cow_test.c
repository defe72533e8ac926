/* cow_test.c - copy-on-write mounts: changes stay in the sandbox, are listed, patched, and applied to the host. */
#include "snapshot/snapshots.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the host's side ---- */

typedef struct host {
  char dir[160];
} host;

static const char *at(const host *h, const char *path) {
  static char text[4][512];
  static unsigned turn;
  turn = (turn + 1) % 4;
  snprintf(text[turn], sizeof text[turn], "%s/%s", h->dir, path);
  return text[turn];
}

static void host_put(const host *h, const char *path, const char *text) {
  FILE *f = fopen(at(h, path), "w");
  EXPECT(f != NULL);
  EXPECT(fputs(text, f) >= 0);
  EXPECT_EQ(fclose(f), 0);
}

/* `count` files f0, f1, … in a directory, all with this text and mode. */
static void host_put_many(const host *h, const char *dir, int count, const char *text, mode_t mode) {
  for (int i = 0; i < count; i++) {
    char name[64];
    snprintf(name, sizeof name, "%s/f%d", dir, i);
    host_put(h, name, text);
    EXPECT_EQ(chmod(at(h, name), mode), 0);
  }
}

/* "-": there is none. */
static const char *host_get(const host *h, const char *path) {
  static char text[256];
  FILE *f = fopen(at(h, path), "r");
  if (f == NULL) return "-";
  size_t n = fread(text, 1, sizeof text - 1, f);
  text[n] = '\0';
  fclose(f);
  return text;
}

static host host_new(void) {
  static int number;
  host h;
  snprintf(h.dir, sizeof h.dir, "%s/cow-%d", test_dir(), number++);
  EXPECT_EQ(mkdir(h.dir, 0755), 0);
  EXPECT_EQ(mkdir(at(&h, "tree"), 0755), 0);
  EXPECT_EQ(mkdir(at(&h, "tree/dir"), 0755), 0);
  EXPECT_EQ(mkdir(at(&h, "tree/dir/deep"), 0755), 0);
  EXPECT_EQ(mkdir(at(&h, "outside"), 0755), 0);
  host_put(&h, "tree/a", "one\ntwo\n");
  host_put(&h, "tree/b", "b\n");
  host_put(&h, "tree/dir/c", "c\n");
  host_put(&h, "tree/dir/deep/d", "d\n");
  host_put(&h, "outside/secret", "SECRET");
  EXPECT_EQ(symlink("dir/c", at(&h, "tree/link")), 0);
  return h;
}

static cay_sandbox *box_over(const host *h) {
  cay_sandbox *box = box_new();
  cay_error err = { .message = "" };
  cay_mount_options o =
      CAY_INIT(cay_mount_options, .host_path = at(h, "tree"), .path = "/w", .copy_on_write = true);
  expect_ok(cay_mount(box, &o, &err), &err);
  return box;
}

/* ---- changes as text ---- */

static bool tell_change(void *ctx, const cay_change *c) {
  told *t = ctx;
  t->len += (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, "%c %s%s%s\n", "ADM"[c->kind],
                             c -> path, c -> contents ? "" : " mode", c->host_changed ? " !" : "");
  return true;
}

static const char *changes(cay_sandbox *box) {
  static told t;
  t = (told){ 0 };
  cay_error err = { .message = "" };
  expect_ok(cay_mount_changes(box, "/w", tell_change, &t, &err), &err);
  return t.text;
}

static bool tell_patch(void *ctx, cay_slice bytes) {
  told *t = ctx;
  EXPECT(t->len + bytes.len < sizeof t->text);
  memcpy(t->text + t->len, bytes.data, bytes.len);
  t->len += bytes.len;
  return true;
}

static size_t applied(cay_sandbox *box) {
  size_t count = 0;
  cay_error err = { .message = "" };
  expect_ok(cay_mount_apply(box, "/w", NULL, &count, &err), &err);
  return count;
}

static void refused(cay_sandbox *box, const char *why) {
  cay_error err = { .message = "applied" };
  (void)!cay_mount_apply(box, "/w", NULL, NULL, &err);
  EXPECT_TEXT(err.message, why);
}

/* ---- in the sandbox ---- */

TEST(a_copy_on_write_mount_shows_the_host_and_keeps_its_changes) {
  host h = host_new();
  cay_sandbox *box = box_over(&h);
  EXPECT(has_text(box, "/w/a", "one\ntwo\n"));
  EXPECT(has_text(box, "/w/link", "c\n"));
  EXPECT_TEXT(changes(box), "");
  run_ok(box,
         "cd /w && echo three >> a && rm -r dir && mkdir new && echo n > new/n && chmod 700 b && ls -R >&2");
  EXPECT_TEXT(changes(box), "M a\nM b mode\nD dir\nD dir/c\nD dir/deep\nD dir/deep/d\nA new\nA new/n\n");
  EXPECT_TEXT(host_get(&h, "tree/a"), "one\ntwo\n");
  EXPECT_TEXT(host_get(&h, "tree/dir/deep/d"), "d\n");
  EXPECT_TEXT(host_get(&h, "tree/new/n"), "-");
  cay_sandbox_free(box);
}

TEST(reading_changes_nothing_and_neither_does_writing_the_same) {
  host h = host_new();
  cay_sandbox *box = box_over(&h);
  run_ok(box, "cd /w && grep -r c . >/dev/null; cat a > /tmp/a; cat /tmp/a > a; touch b; mv b bb; mv bb b");
  EXPECT_TEXT(changes(box), "");
  cay_sandbox_free(box);
}

TEST(a_file_that_was_open_before_shows_what_is_written_since) {
  host h = host_new();
  cay_sandbox *box = box_over(&h);
  run_ok(box, "cd /w && exec 3< a && echo four >> a && cat <&3 | grep -q four");
  run_ok(box, "cd /w && exec 3< dir/c && rm dir/c && test \"$(cat <&3)\" = c");
  cay_sandbox_free(box);
}

TEST(hard_links_of_the_host_are_one_file) {
  host h = host_new();
  EXPECT_EQ(link(at(&h, "tree/a"), at(&h, "tree/dir/deep/a2")), 0);
  EXPECT_EQ(link(at(&h, "tree/a"), at(&h, "tree/a3")), 0);
  cay_sandbox *box = box_over(&h);
  run_ok(box,
         "cd /w && echo x > a && test \"$(cat a3)\" = x && test a -ef a3 && test \"$(stat -c %h a)\" = 3");
  EXPECT_TEXT(changes(box), "M a\nM a3\nM dir/deep/a2\n");
  EXPECT_EQ(applied(box), 3);
  EXPECT_TEXT(host_get(&h, "tree/dir/deep/a2"), "x\n");
  struct stat a, b;
  EXPECT_EQ(stat(at(&h, "tree/a"), &a), 0);
  EXPECT_EQ(stat(at(&h, "tree/dir/deep/a2"), &b), 0);
  EXPECT_EQ(a.st_ino, b.st_ino);
  EXPECT_TEXT(changes(box), "");
  cay_sandbox_free(box);
}

TEST(hard_links_are_one_file_whichever_name_is_opened_first) {
  host h = host_new();
  EXPECT_EQ(link(at(&h, "tree/dir/c"), at(&h, "tree/dir/c2")), 0);
  EXPECT_EQ(link(at(&h, "tree/a"), at(&h, "tree/dir/deep/a2")), 0);
  cay_sandbox *box = box_over(&h);
  run_ok(box, "cd /w && exec 3< dir/c2 4< dir/c && test /dev/fd/3 -ef /dev/fd/4");
  run_ok(box, "cd /w && read x < dir/deep/a2 && echo new > a && test \"$(cat dir/deep/a2)\" = new");
  EXPECT_TEXT(changes(box), "M a\nM dir/deep/a2\n");
  cay_sandbox_free(box);
}

TEST(attributes_are_those_of_the_first_look_at_a_file) {
  host h = host_new();
  cay_sandbox *box = box_over(&h);
  run_ok(box, "cd /w && ls -f . dir > /tmp/names");
  host_put(&h, "tree/a", "longer than it was\n");
  host_put(&h, "tree/dir/c", "longer, too\n");
  run_ok(box, "cd /w && test \"$(stat -c %s a)\" = 19 && test \"$(cat dir/c)\" = 'longer, too'");
  run_ok(box, "cd /w && test \"$(stat -c %s dir/c)\" = 12");
  EXPECT_TEXT(changes(box), "");
  cay_sandbox_free(box);
}

TEST(what_was_listed_and_is_gone_can_be_removed_and_not_opened) {
  host h = host_new();
  cay_sandbox *box = box_over(&h);
  run_ok(box, "cd /w && ls -f . dir > /tmp/names");
  EXPECT_EQ(unlink(at(&h, "tree/a")), 0);
  EXPECT_EQ(unlink(at(&h, "tree/b")), 0);
  EXPECT_EQ(symlink("../outside/secret", at(&h, "tree/b")), 0);
  EXPECT_EQ(unlink(at(&h, "tree/dir/c")), 0);
  EXPECT_EQ(mkdir(at(&h, "tree/dir/c"), 0755), 0);
  run_ok(box, "cd /w && for f in a b dir/c; do ! cat $f 2> /dev/null || exit 1; test -f $f || exit 2; done");
  EXPECT_TEXT(changes(box), "");
  run_ok(box, "cd /w && rm a b && rm -r dir && mkdir dir && echo again > a && cat a");
  EXPECT_TEXT(changes(box), "M a !\nD b !\nD dir/c !\nD dir/deep\nD dir/deep/d\n");
  cay_sandbox_free(box);
}

TEST(a_file_that_may_not_be_read_holds_no_descriptor) {
  enum { MANY = 1100 }; /* more than a mount may hold */
  host h = host_new();
  host_put_many(&h, "tree/dir", MANY, "x", 0);
  cay_sandbox *box = box_over(&h);
  run_ok(box, "cd /w/dir && for f in f*; do ! read x 2> /dev/null < $f || exit 1; done");
  EXPECT(has_text(box, "/w/dir/c", "c\n"));
  cay_sandbox_free(box);
}

TEST(several_programs_look_at_the_same_files_at_once) {
  host h = host_new();
  host_put_many(&h, "tree/dir", 200, "some word\n", 0644);
  cay_sandbox *box = box_over(&h);
  run_ok(box,
         "cd /w && for i in 1 2 3; do grep -r word . | wc -l & ls -lR . > /dev/null & done > /tmp/n; wait; "
         "test \"$(sort -u /tmp/n)\" = 200");
  EXPECT_TEXT(changes(box), "");
  cay_sandbox_free(box);
}

TEST(directories_are_renamed_with_what_was_never_looked_at) {
  host h = host_new();
  cay_sandbox *box = box_over(&h);
  EXPECT_EQ(cay_file_rename(box, "/w/dir", "/w/moved", NULL), CAY_OK);
  EXPECT(has_text(box, "/w/moved/deep/d", "d\n"));
  EXPECT_TEXT(changes(box),
              "D dir\nD dir/c\nD dir/deep\nD dir/deep/d\nA moved\nA moved/c\nA moved/deep\nA moved/deep/d\n");
  EXPECT_EQ(applied(box), 8);
  EXPECT_TEXT(host_get(&h, "tree/moved/deep/d"), "d\n");
  EXPECT_TEXT(host_get(&h, "tree/dir/c"), "-");
  EXPECT(has_text(box, "/w/moved/c", "c\n")); /* its bytes are under the new name */
  EXPECT(has_text(box, "/w/moved/deep/d", "d\n"));
  EXPECT_TEXT(changes(box), "");
  cay_sandbox_free(box);
}

TEST(the_limits_count_copied_bytes_changed_files_and_remembered_names) {
  host h = host_new();
  char big[5000];
  memset(big, 'x', sizeof big - 1);
  big[sizeof big - 1] = '\0';
  host_put(&h, "tree/big", big);
  EXPECT_EQ(mkdir(at(&h, "tree/many"), 0755), 0);
  host_put_many(&h, "tree/many", 300, "", 0644);
  cay_sandbox *box = NULL;
  cay_error err = { .message = "" };
  const cay_limits limits = CAY_INIT(cay_limits, .disk = 4096, .memory = 256 << 10);
  expect_ok(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .limits = &limits), &box, &err),
            &err);
  cay_mount_options o =
      CAY_INIT(cay_mount_options, .host_path = at(&h, "tree"), .path = "/w", .copy_on_write = true);
  expect_ok(cay_mount(box, &o, &err), &err);
  EXPECT_EQ(cay_file_write_at(box, "/w/big", 0, box_text("y"), &err), CAY_LIMIT);
  cay_buf got = { 0 };
  EXPECT_EQ(cay_file_read_max(box, "/w/big", 8192, &got, &err), CAY_OK);
  EXPECT_EQ(got.len, sizeof big - 1);
  cay_buf_free(&got);
  cay_stat st;
  EXPECT(cay_file_stat(box, "/w/many/f1", &st, &err) != CAY_OK);
  EXPECT_EQ(err.os_errno, 12); /* ENOMEM */
  cay_usage usage;
  cay_sandbox_usage(box, &usage);
  EXPECT(usage.memory > 0);
  EXPECT_EQ(cay_unmount(box, "/w", &err), CAY_OK);
  cay_sandbox_usage(box, &usage);
  EXPECT_EQ(usage.memory, 0);
  cay_sandbox_free(box);
}

/* ---- as a patch ---- */

TEST(changes_are_a_patch_for_git_and_patch) {
  host h = host_new();
  cay_sandbox *box = box_over(&h);
  run_ok(box, "cd /w && sed -i s/two/2/ a && rm b && echo n > n && chmod +x n");
  told t = { 0 };
  cay_error err = { .message = "" };
  expect_ok(cay_mount_patch(box, "/w", tell_patch, &t, &err), &err);
  EXPECT_TEXT(t.text,
              "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
              "diff --git a/b b/b\ndeleted file mode 100644\n--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n"
              "diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n");
  host_put(&h, "tree/a", "another\n");
  EXPECT_EQ(cay_mount_patch(box, "/w", tell_patch, &t, &err), CAY_EXISTS);
  cay_sandbox_free(box);
}

/* ---- applied ---- */

TEST(applied_changes_are_on_the_host_and_no_changes_any_more) {
  host h = host_new();
  cay_sandbox *box = box_over(&h);
  run_ok(
      box,
      "cd /w && echo x > a && rm -r dir && mkdir -p p/q && echo n > p/q/n && chmod 600 p/q/n && chmod 750 p && "
      "ln -s n p/q/l && ln p/q/n p/q/m");
  EXPECT_EQ(applied(box), 10);
  EXPECT_TEXT(host_get(&h, "tree/a"), "x\n");
  EXPECT_TEXT(host_get(&h, "tree/p/q/l"), "n\n");
  EXPECT(access(at(&h, "tree/dir"), F_OK) != 0);
  struct stat st;
  EXPECT_EQ(stat(at(&h, "tree/p/q/n"), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600);
  EXPECT_EQ(st.st_nlink, 2);
  EXPECT_EQ(stat(at(&h, "tree/p"), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0750);
  EXPECT_TEXT(changes(box), "");
  run_ok(box, "cd /w && echo y > a && rm p/q/l && mkdir dir && echo again > dir/c");
  EXPECT_TEXT(changes(box), "M a\nA dir\nA dir/c\nD p/q/l\n");
  EXPECT_EQ(applied(box), 4);
  EXPECT_TEXT(host_get(&h, "tree/a"), "y\n");
  EXPECT_TEXT(host_get(&h, "tree/dir/c"), "again\n");
  EXPECT_EQ(applied(box), 0);
  cay_sandbox_free(box);
}

TEST(files_that_changed_places_and_types_are_applied) {
  host h = host_new();
  cay_sandbox *box = box_over(&h);
  run_ok(box, "cd /w && mv a t && mv b a && mv t b && mv dir/deep/d . && rm -r dir && mv d dir && rm link && "
              "mkdir link && mv a link/a");
  EXPECT_TEXT(changes(box), "D a\nM b\nM dir\nD dir/c\nD dir/deep\nD dir/deep/d\nM link\nA link/a\n");
  (void)applied(box);
  EXPECT_TEXT(host_get(&h, "tree/b"), "one\ntwo\n");
  EXPECT_TEXT(host_get(&h, "tree/dir"), "d\n");
  EXPECT_TEXT(host_get(&h, "tree/link/a"), "b\n");
  EXPECT_TEXT(changes(box), "");
  EXPECT(has_text(box, "/w/dir", "d\n"));
  EXPECT(has_text(box, "/w/link/a", "b\n"));
  EXPECT(has_text(box, "/w/b", "one\ntwo\n"));
  cay_sandbox_free(box);
}

static bool only_a(void *ctx, const cay_change *change) {
  (void)ctx;
  return strcmp(change->path, "a") == 0;
}

TEST(changes_that_are_not_agreed_to_stay_changes) {
  host h = host_new();
  cay_sandbox *box = box_over(&h);
  run_ok(box, "cd /w && echo x > a && echo y > b");
  size_t count = 0;
  EXPECT_EQ(cay_mount_apply(box, "/w", &CAY_INIT(cay_apply_options, .agree = only_a), &count, NULL), CAY_OK);
  EXPECT_EQ(count, 1);
  EXPECT_TEXT(host_get(&h, "tree/a"), "x\n");
  EXPECT_TEXT(host_get(&h, "tree/b"), "b\n");
  EXPECT_TEXT(changes(box), "M b\n");
  cay_sandbox_free(box);
}

TEST(a_file_that_the_host_changed_since_is_not_replaced) {
  host h = host_new();
  cay_sandbox *box = box_over(&h);
  run_ok(box, "cd /w && echo x > a && echo y > b && echo z > n && rm -r dir");
  host_put(&h, "tree/b", "by the host, longer\n");
  EXPECT_TEXT(changes(box), "M a\nM b !\nD dir\nD dir/c\nD dir/deep\nD dir/deep/d\nA n\n");
  refused(box, "b was changed on the host since the sandbox looked at it; nothing was applied");
  EXPECT_TEXT(host_get(&h, "tree/a"), "one\ntwo\n"); /* nothing was applied */
  EXPECT_EQ(unlink(at(&h, "tree/b")), 0);
  refused(box, "b was changed on the host since the sandbox looked at it; nothing was applied");
  host_put(&h, "tree/b", "y\n"); /* as the sandbox has it: no conflict */
  host_put(&h, "tree/n", "host\n");
  refused(box, "n was changed on the host since the sandbox looked at it; nothing was applied");
  EXPECT_EQ(unlink(at(&h, "tree/n")), 0);
  host_put(&h, "tree/dir/more", "");
  refused(box, "dir was changed on the host since the sandbox looked at it; nothing was applied");
  EXPECT_EQ(unlink(at(&h, "tree/dir/more")), 0);
  EXPECT_EQ(applied(box), 6); /* b is as the host has it */
  EXPECT_TEXT(changes(box), "");
  cay_sandbox_free(box);
}

TEST(no_link_of_the_host_leads_reading_or_applying_out) {
  host h = host_new();
  cay_sandbox *box = box_over(&h);
  run_ok(box, "cd /w && cat dir/c && echo x > dir/new && echo y > dir/secret && echo z >> dir/deep/d");
  EXPECT_EQ(rename(at(&h, "tree/dir"), at(&h, "old")), 0);
  EXPECT_EQ(symlink("../outside", at(&h, "tree/dir")), 0);
  cay_buf got = { 0 };
  EXPECT(cay_file_read(box, "/w/dir/c", &got, NULL) != CAY_OK);
  cay_error err;
  EXPECT(cay_mount_apply(box, "/w", NULL, NULL, &err) != CAY_OK);
  EXPECT_TEXT(host_get(&h, "outside/secret"), "SECRET");
  EXPECT_TEXT(host_get(&h, "outside/new"), "-");
  cay_sandbox_free(box);
}

/* While the embedder is asked, a directory becomes a link. */
static bool swap_and_agree(void *ctx, const cay_change *c) {
  const host *h = ctx;
  if (strcmp(c->path, "dir/new") != 0) return true;
  EXPECT_EQ(rename(at(h, "tree/dir"), at(h, "old")), 0);
  EXPECT_EQ(symlink("../outside", at(h, "tree/dir")), 0);
  return true;
}

TEST(a_link_that_appears_during_the_consent_leads_nothing_out) {
  static const char *const changes_made[] = {
    "echo x > dir/new && echo y > dir/secret && echo z > dir/c", /* written */
    "echo x > dir/new && rm dir/c && chmod 700 dir/deep",        /* removed, and a mode */
    "echo x > dir/new && rm -r dir/deep && mkdir dir/deep && mkdir dir/secret && echo y > dir/secret/y",
  };
  for (size_t i = 0; i < COUNT_OF(changes_made); i++) {
    host h = host_new();
    host_put(&h, "outside/c", "outer");
    EXPECT_EQ(mkdir(at(&h, "outside/deep"), 0755), 0);
    cay_sandbox *box = box_over(&h);
    char command[200];
    snprintf(command, sizeof command, "cd /w && %s", changes_made[i]);
    run_ok(box, command);
    cay_error err;
    EXPECT(cay_mount_apply(box, "/w", &CAY_INIT(cay_apply_options, .agree = swap_and_agree, .ctx = &h), NULL,
                           &err) != CAY_OK);
    struct stat st;
    EXPECT_TEXT(host_get(&h, "outside/secret"), "SECRET");
    EXPECT_TEXT(host_get(&h, "outside/c"), "outer");
    EXPECT_TEXT(host_get(&h, "outside/new"), "-");
    EXPECT_EQ(stat(at(&h, "outside/deep"), &st), 0);
    EXPECT_EQ(st.st_mode & 0777, 0755);
    cay_sandbox_free(box);
  }
}

TEST(links_of_the_sandbox_are_made_and_not_followed) {
  host h = host_new();
  cay_sandbox *box = box_over(&h);
  run_ok(box,
         "cd /w && ln -s ../outside out && rm -r dir && ln -s ../outside dir && rm a && ln -s /etc/passwd a");
  EXPECT_TEXT(changes(box), "M a\nM dir\nD dir/c\nD dir/deep\nD dir/deep/d\nA out\n");
  EXPECT_EQ(applied(box), 6);
  char target[100] = { 0 };
  EXPECT_EQ(readlink(at(&h, "tree/a"), target, sizeof target), 11);
  EXPECT_TEXT(target, "/etc/passwd");
  EXPECT_TEXT(host_get(&h, "outside/secret"), "SECRET");
  cay_sandbox_free(box);
}

TEST(what_no_host_should_get_is_refused) {
  host h = host_new();
  cay_sandbox *box = box_over(&h);
  cay_error err;
  run_ok(box, "cd /w && echo x > a && chmod 4755 b && mkfifo pipe");
  EXPECT_EQ(cay_mount_apply(box, "/w", NULL, NULL, &err), CAY_UNSUPPORTED);
  EXPECT_TEXT(host_get(&h, "tree/a"), "one\ntwo\n");
  run_ok(box, "rm /w/pipe");
  EXPECT_EQ(applied(box), 2);
  struct stat st;
  EXPECT_EQ(stat(at(&h, "tree/b"), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0755); /* without the set-id bit */
  EXPECT_EQ(cay_mount_changes(box, "/tmp", tell_change, NULL, &err), CAY_NOT_FOUND);
  EXPECT_EQ(cay_mount_changes(box, "/nowhere", tell_change, NULL, &err), CAY_NOT_FOUND);
  cay_mount_options o =
      CAY_INIT(cay_mount_options, .host_path = at(&h, "tree/a"), .path = "/f", .copy_on_write = true);
  EXPECT(cay_mount(box, &o, &err) != CAY_OK);
  o.host_path = at(&h, "tree");
  o.writable = true;
  EXPECT_EQ(cay_mount(box, &o, &err), CAY_INVALID);
  cay_sandbox_free(box);
}
