/* files_test.c - looking into snapshots, comparing them, and making them file by file. */
#include "snapshots.h"

static const char story[] =
    "mkdir -p d/e; echo one > d/f; ln d/f d/g; ln -s f d/l; chmod 640 d/e; chmod 6751 d/f; mkfifo d/p; : > empty; "
    "touch -h -d @1234567890 d/f d/l d/e d empty d/p .";

static cay_snapshot *of_story(void) {
  cay_sandbox *box = box_new();
  run_ok(box, story);
  EXPECT_EQ(cay_file_remove(box, "/etc/hostname", false, NULL), CAY_OK);
  cay_snapshot *s = taken(box);
  cay_sandbox_free(box);
  return s;
}

/* ---- looking ---- */

TEST(a_walk_has_the_files_that_differ_by_name_and_links_once) {
  cay_snapshot *s = of_story();
  EXPECT_TEXT(
      walked(s, "/home/agent", false),
      "/home/agent/\n/home/agent/d/\n/home/agent/d/e/\n/home/agent/d/f\n/home/agent/d/g = /home/agent/d/f\n"
      "/home/agent/d/l -> f\n/home/agent/d/p\n/home/agent/empty\n");
  EXPECT(strstr(walked(s, NULL, false), "-/etc/hostname\n") != NULL);
  EXPECT(strstr(walked(s, NULL, false), "/usr/bin") == NULL);
  cay_error err;
  EXPECT_EQ(cay_snapshot_walk(s, &CAY_INIT(cay_walk_options, .path = "/nowhere"), tell_entry, NULL, &err),
            CAY_NOT_FOUND);
  EXPECT_EQ(cay_snapshot_walk(s, &CAY_INIT(cay_walk_options, .path = "/a/../b"), tell_entry, NULL, &err),
            CAY_INVALID);
  cay_snapshot_free(s);
}

static bool count_entry(void *ctx, const cay_entry *e) {
  (void)e;
  return ++*(size_t *)ctx < 5;
}

TEST(a_walk_of_everything_has_the_system_and_ends_when_told) {
  cay_sandbox *box = box_new();
  cay_snapshot *s = taken(box);
  size_t count = 0;
  EXPECT_EQ(cay_snapshot_walk(s, &CAY_INIT(cay_walk_options, .all = true), count_entry, &count, NULL),
            CAY_OK);
  EXPECT_EQ(count, 5);
  EXPECT_TEXT(walked(s, NULL, false), "");
  cay_snapshot_free(s);
  cay_sandbox_free(box);
}

TEST(files_of_a_snapshot_are_read_and_digested_in_place) {
  cay_snapshot *s = of_story();
  char buf[8] = { 0 };
  size_t len = 0;
  uint8_t digest[32];
  cay_entry e;
  EXPECT_EQ(cay_snapshot_read(s, "/home/agent/d/g", 1, buf, sizeof buf, &len, NULL), CAY_OK);
  EXPECT_TEXT(buf, "ne\n");
  EXPECT_EQ(len, 3);
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(cay_snapshot_digest(s, "/home/agent/d/f", digest, NULL), CAY_OK);
    EXPECT(memcmp(digest, "\x2c\x8b\x08\xda\x5c\xe6\x03\x98", 8) == 0); /* echo one | sha256sum */
  }
  EXPECT_EQ(cay_snapshot_read(s, "/home/agent/d", 0, buf, sizeof buf, &len, NULL), CAY_INVALID);
  EXPECT_EQ(cay_snapshot_digest(s, "/home/agent/d/l", digest, NULL), CAY_INVALID);
  EXPECT_EQ(cay_snapshot_stat(s, "/home/agent/d/l/x", &e, NULL), CAY_NOT_FOUND);
  EXPECT_EQ(cay_snapshot_stat(s, "/home/agent/d/l", &e, NULL), CAY_OK);
  EXPECT_TEXT(e.target, "f");
  EXPECT_EQ(e.mtime_ns, 1234567890000000000);
  EXPECT_EQ(cay_snapshot_stat(s, "/home/agent/d/e", &e, NULL), CAY_OK);
  EXPECT_EQ(e.mode, 0640);
  cay_snapshot_free(s);
}

/* ---- comparing ---- */

static bool tell_change(void *ctx, const cay_change *c) {
  told *t = ctx;
  t->len += (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, "%c%s %s\n", "A-M"[c->kind],
                             c -> contents ? "" : "m", c->path);
  EXPECT_EQ(c->before == NULL, c->kind == CAY_ADDED);
  EXPECT_EQ(c->after == NULL, c->kind == CAY_REMOVED);
  return true;
}

static const char *differ(const cay_snapshot *a, const cay_snapshot *b, bool times) {
  static told t;
  t = (told){ 0 };
  cay_diff_options o = CAY_INIT(cay_diff_options, .path = "/home/agent", .times = times);
  EXPECT_EQ(cay_snapshot_diff(a, b, &o, tell_change, &t, NULL), CAY_OK);
  return t.text;
}

TEST(a_diff_tells_contents_from_metadata_and_lists_what_went) {
  cay_sandbox *box = box_new();
  run_ok(
      box,
      "mkdir -p a/b keep; echo 1 > a/b/f; echo 2 > keep/same; echo 3 > c; echo 4 > m; echo 5 > t; echo 6 > back; "
      "head -c 300000 /dev/zero > big");
  cay_snapshot *one = taken(box);
  run_ok(
      box,
      "rm -r a; echo 33 > c; chmod 600 m; touch -d @5 t; ln -s x l; echo 7 > back; echo 6 > back; echo x >> big; "
      "rm c; mkdir c; touch c/in");
  cay_snapshot *two = taken(box);
  EXPECT_TEXT(differ(one, two, false),
              "- /home/agent/a\n- /home/agent/a/b\n- /home/agent/a/b/f\nM /home/agent/big\n"
              "M /home/agent/c\nA /home/agent/c/in\nA /home/agent/l\nMm /home/agent/m\n");
  EXPECT(strstr(differ(one, two, true), "Mm /home/agent/t\n") != NULL);
  EXPECT_TEXT(differ(one, one, true), "");
  EXPECT(strstr(differ(NULL, two, false), "A /home/agent/keep/same\n") != NULL);
  cay_snapshot_free(one);
  cay_snapshot_free(two);
  cay_sandbox_free(box);
}

/* ---- making ---- */

typedef struct copying {
  const cay_snapshot *from;
  cay_snapshot_maker *to;
} copying;

/* As a store does it: entries, and contents from elsewhere. */
static bool copy_entry(void *ctx, const cay_entry *e) {
  const copying *c = ctx;
  cay_error err = { .message = "" };
  char piece[1000];
  expect_ok(cay_snapshot_maker_put(c->to, e, &err), &err);
  if (e->kind != CAY_FILE || e->same_as != NULL || e->removed) return true;
  for (uint64_t at = 0;;) {
    size_t n = 0;
    EXPECT_EQ(cay_snapshot_read(c->from, e->path, at, piece, sizeof piece, &n, NULL), CAY_OK);
    if (n == 0) return true;
    expect_ok(cay_snapshot_maker_write(c->to, (cay_slice){ piece, n }, &err), &err);
    at += n;
  }
}

static cay_snapshot_maker *maker(const cay_snapshot *base) {
  cay_snapshot_maker *m = NULL;
  cay_error err = { .message = "" };
  expect_ok(
      cay_snapshot_maker_new(box_engine(), &CAY_INIT(cay_snapshot_maker_options, .base = base), &m, &err),
      &err);
  return m;
}

static cay_snapshot *made(cay_snapshot_maker *m) {
  cay_snapshot *s = NULL;
  cay_error err = { .message = "" };
  expect_ok(cay_snapshot_maker_finish(m, "made", &s, &err), &err);
  return s;
}

TEST(a_snapshot_made_from_the_entries_of_another_is_the_same) {
  cay_snapshot *s = of_story();
  copying c = { s, maker(NULL) };
  EXPECT_EQ(cay_snapshot_walk(s, NULL, copy_entry, &c, NULL), CAY_OK);
  cay_snapshot *copy = made(c.to);
  char want[8192];
  snprintf(want, sizeof want, "%s", walked(s, NULL, true));
  EXPECT_TEXT(walked(copy, NULL, true), want);
  EXPECT_TEXT(differ(s, copy, true), "");
  cay_snapshot_info info;
  cay_snapshot_info_get(copy, &info);
  EXPECT_TEXT(info.label, "made");
  cay_sandbox *box = restored(copy);
  run_ok(
      box,
      "[ $(cat d/l) = one ] && [ $(stat -c %h d/f) = 2 ] && [ ! -e /etc/hostname ] && echo $HOME | grep -q agent");
  cay_sandbox_free(box);
  cay_snapshot_free(copy);
  cay_snapshot_free(s);
}

static cay_status put(cay_snapshot_maker *m, cay_entry e) { return cay_snapshot_maker_put(m, &e, NULL); }

TEST(a_maker_follows_no_symlink_and_refuses_paths_that_make_no_sense) {
  cay_snapshot_maker *m = maker(NULL);
  EXPECT_EQ(put(m, (cay_entry){ .path = "/tmp/l", .kind = CAY_LINK, .target = "/etc" }), CAY_OK);
  EXPECT_EQ(put(m, (cay_entry){ .path = "/tmp/l/passwd", .kind = CAY_FILE, .mode = 0644 }), CAY_INVALID);
  EXPECT_EQ(put(m, (cay_entry){ .path = "/tmp/l/passwd", .removed = true }), CAY_OK);
  EXPECT_EQ(put(m, (cay_entry){ .path = "tmp/f", .kind = CAY_FILE }), CAY_INVALID);
  EXPECT_EQ(put(m, (cay_entry){ .path = "/tmp/../f", .kind = CAY_FILE }), CAY_INVALID);
  EXPECT_EQ(put(m, (cay_entry){ .path = "/tmp/./f", .kind = CAY_FILE }), CAY_INVALID);
  EXPECT_EQ(put(m, (cay_entry){ .path = "/", .kind = CAY_FILE }), CAY_INVALID);
  EXPECT_EQ(put(m, (cay_entry){ .path = "/", .removed = true }), CAY_INVALID);
  EXPECT_EQ(put(m, (cay_entry){ .path = "/tmp/x", .type = 0020000 }), CAY_INVALID);
  EXPECT_EQ(put(m, (cay_entry){ .path = "/tmp/x", .kind = CAY_LINK }), CAY_INVALID);
  EXPECT_EQ(put(m, (cay_entry){ .path = "/tmp/x", .same_as = "/nowhere" }), CAY_INVALID);
  EXPECT_EQ(put(m, (cay_entry){ .path = NULL }), CAY_INVALID);
  char long_name[400] = "/tmp/";
  memset(long_name + 5, 'x', 300);
  EXPECT_EQ(put(m, (cay_entry){ .path = long_name, .kind = CAY_FILE }), CAY_INVALID);
  EXPECT_EQ(cay_snapshot_maker_write(m, CAY_TEXT("x"), NULL), CAY_INVALID);
  cay_snapshot *s = made(m);
  cay_entry e;
  EXPECT_EQ(cay_snapshot_stat(s, "/etc/passwd", &e, NULL), CAY_OK);
  EXPECT(e.len > 0);
  cay_snapshot_free(s);
}

TEST(a_maker_replaces_files_by_directories_and_the_other_way) {
  cay_snapshot_maker *m = maker(NULL);
  EXPECT_EQ(put(m, (cay_entry){ .path = "/home/agent/a/b/c", .kind = CAY_FILE, .mode = 0600, .len = 10 }),
            CAY_OK);
  EXPECT_EQ(cay_snapshot_maker_write(m, CAY_TEXT("abc"), NULL), CAY_OK);
  EXPECT_EQ(cay_snapshot_maker_skip(m, 3, NULL), CAY_OK);
  EXPECT_EQ(cay_snapshot_maker_write(m, CAY_TEXT("d"), NULL), CAY_OK);
  cay_snapshot *one = made(m);
  char buf[16];
  size_t len;
  EXPECT_EQ(cay_snapshot_read(one, "/home/agent/a/b/c", 0, buf, sizeof buf, &len, NULL), CAY_OK);
  EXPECT_EQ(len, 10);
  EXPECT(memcmp(buf, "abc\0\0\0d\0\0\0", 10) == 0);
  m = maker(one);
  EXPECT_EQ(put(m, (cay_entry){ .path = "/home/agent/a", .kind = CAY_FILE, .mode = 0644 }), CAY_OK);
  EXPECT_EQ(cay_snapshot_maker_write(m, CAY_TEXT("now a file"), NULL), CAY_OK);
  EXPECT_EQ(put(m, (cay_entry){ .path = "/usr", .removed = true }), CAY_OK);
  cay_snapshot *two = made(m);
  EXPECT(strstr(walked(two, NULL, false), "-/usr/\n") != NULL);
  m = maker(two);
  EXPECT_EQ(put(m, (cay_entry){ .path = "/home/agent/a", .kind = CAY_DIR, .mode = 0755 }), CAY_OK);
  cay_snapshot *three = made(m);
  EXPECT(strstr(walked(three, "/home/agent", false), "/home/agent/a/\n") != NULL);
  cay_snapshot_free(one);
  cay_snapshot_free(two);
  cay_snapshot_free(three);
}

TEST(a_maker_has_limits) {
  cay_snapshot_maker *m = NULL;
  static const char block[4096];
  EXPECT_EQ(cay_snapshot_maker_new(box_engine(),
                                   &CAY_INIT(cay_snapshot_maker_options, .bytes_max = 1000, .files_max = 10),
                                   &m, NULL),
            CAY_OK);
  cay_status status = put(m, (cay_entry){ .path = "/tmp/f", .kind = CAY_FILE });
  for (int i = 0; status == CAY_OK && i < 10000; i++)
    status = cay_snapshot_maker_write(m, (cay_slice){ block, sizeof block }, NULL);
  EXPECT_EQ(status, CAY_LIMIT);
  char path[40];
  status = CAY_OK;
  for (int i = 0; status == CAY_OK && i < 1000; i++) {
    snprintf(path, sizeof path, "/tmp/d%d", i);
    status = put(m, (cay_entry){ .path = path, .kind = CAY_DIR });
  }
  EXPECT_EQ(status, CAY_LIMIT);
  cay_snapshot_maker_free(m);
}

TEST(a_maker_without_memory_leaks_nothing) {
  cay_snapshot *s = of_story();
  AT_EVERY_FAULT {
    cay_snapshot_maker *m = NULL;
    cay_snapshot *out = NULL;
    if (cay_snapshot_maker_new(box_engine(), &CAY_INIT(cay_snapshot_maker_options, .base = s), &m, NULL) !=
        CAY_OK)
      continue;
    cay_status status = put(m, (cay_entry){ .path = "/home/agent/x/y", .kind = CAY_FILE, .mode = 0644 });
    if (status == CAY_OK) status = cay_snapshot_maker_write(m, CAY_TEXT("text"), NULL);
    if (status == CAY_OK) status = put(m, (cay_entry){ .path = "/home/agent/d", .removed = true });
    cay_status finished = cay_snapshot_maker_finish(m, "label", &out, NULL);
    EXPECT_EQ(finished == CAY_OK, out != NULL);
    cay_snapshot_free(out);
  }
  cay_snapshot_free(s);
}

/* ---- patches ---- */

static bool append(void *ctx, cay_slice bytes) {
  told *t = ctx;
  t->len += (size_t)snprintf(t->text + t->len, sizeof t->text - t->len, "%.*s", (int)bytes.len,
                             (const char *)bytes.data);
  EXPECT(t->len < sizeof t->text);
  return true;
}

static const char *patched(const cay_snapshot *a, const cay_snapshot *b) {
  static told t;
  cay_error err = { .message = "" };
  t = (told){ 0 };
  expect_ok(cay_snapshot_patch(a, b, &CAY_INIT(cay_diff_options, .path = "/home/agent"), append, &t, &err),
            &err);
  return t.text;
}

TEST(a_patch_has_the_form_of_git) {
  cay_sandbox *box = box_new();
  run_ok(
      box,
      "seq 20 > n; echo x > gone; printf 'no end' > e; ln -s a l; echo m > m; printf 'a\\0b' > bin; echo t > t; : > none");
  cay_snapshot *one = taken(box);
  run_ok(
      box,
      "sed -i '2s/.*/two/; 10d' n; rm gone; printf 'no end at all' > e; ln -sf b l; chmod +x m; printf 'c\\0d' > bin; "
      "echo q > 'with \"quote'; echo b > 'a blank'; : > empty; rm none; rm t; ln -s x t; mkdir d");
  cay_snapshot *two = taken(box);
  EXPECT_TEXT(
      patched(one, two),
      "diff --git a/a blank b/a blank\nnew file mode 100644\n--- /dev/null\n+++ b/a blank\t\n@@ -0,0 +1 @@\n+b\n"
      "diff --git a/bin b/bin\nBinary files a/bin and b/bin differ\n"
      "diff --git a/e b/e\n--- a/e\n+++ b/e\n@@ -1 +1 @@\n-no end\n\\ No newline at end of file\n"
      "+no end at all\n\\ No newline at end of file\n"
      "diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n"
      "diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
      "diff --git a/l b/l\ndeleted file mode 120000\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
      "\\ No newline at end of file\n"
      "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+b\n"
      "\\ No newline at end of file\n"
      "diff --git a/m b/m\nold mode 100644\nnew mode 100755\n"
      "diff --git a/n b/n\n--- a/n\n+++ b/n\n@@ -1,5 +1,5 @@\n 1\n-2\n+two\n 3\n 4\n 5\n"
      "@@ -7,7 +7,6 @@\n 7\n 8\n 9\n-10\n 11\n 12\n 13\n"
      "diff --git a/none b/none\ndeleted file mode 100644\nindex e69de29..0000000\n"
      "diff --git a/t b/t\ndeleted file mode 100644\n--- a/t\n+++ /dev/null\n@@ -1 +0,0 @@\n-t\n"
      "diff --git a/t b/t\nnew file mode 120000\n--- /dev/null\n+++ b/t\n@@ -0,0 +1 @@\n+x\n"
      "\\ No newline at end of file\n"
      "diff --git \"a/with \\\"quote\" \"b/with \\\"quote\"\nnew file mode 100644\n--- /dev/null\n"
      "+++ \"b/with \\\"quote\"\t\n@@ -0,0 +1 @@\n+q\n");
  EXPECT_TEXT(patched(two, two), "");
  cay_snapshot_free(one);
  cay_snapshot_free(two);
  cay_sandbox_free(box);
}

static bool to_file(void *ctx, cay_slice bytes) { return fwrite(bytes.data, 1, bytes.len, ctx) == bytes.len; }

/* GNU patch makes the one of the other, whatever was edited. */
TEST(patches_of_random_edits_apply) {
  const char *dir = test_dir();
  uint64_t state = test_seed(3);
  for (int round = 0; round < 20; round++) {
    cay_sandbox *box = box_new();
    char text[2][4000] = { "", "" }, path[300], command[900];
    for (int i = 0; i < 300; i++) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      uint32_t r = (uint32_t)(state >> 33);
      char line[20];
      snprintf(line, sizeof line, "%u\n", r / 64 % 6);
      if (r % 16 != 0) strcat(text[0], line);
      if (r / 16 % (uint32_t)(2 + round) != 0) strcat(text[1], line);
    }
    put_text(box, "/home/agent/f", text[0]);
    cay_snapshot *one = taken(box);
    put_text(box, "/home/agent/f", text[1]);
    cay_snapshot *two = taken(box);
    for (int i = 0; i < 3; i++) {
      snprintf(path, sizeof path, "%s/%s", dir, i == 0 ? "f" : i == 1 ? "want" : "patch");
      FILE *file = fopen(path, "we");
      if (i < 2) fputs(text[i], file);
      if (i == 2)
        EXPECT_EQ(cay_snapshot_patch(one, two, &CAY_INIT(cay_diff_options, .path = "/home/agent"), to_file,
                                     file, NULL),
                  CAY_OK);
      EXPECT_EQ(fclose(file), 0);
    }
    snprintf(command, sizeof command, "cd %s && patch -s -p1 --fuzz=0 < patch && cmp f want", dir);
    EXPECT_EQ(system(command), 0);
    cay_snapshot_free(one);
    cay_snapshot_free(two);
    cay_sandbox_free(box);
  }
}
