/* patch_session_test.c - patches on sessions: all or nothing, names, kinds of changes, and what patch(1) and git(1) do with
 * the same. */
#include "base/random.h"
#include "workspace/patch.h"
#include "ws.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static cay_ws_error err;

static cay_status apply(cay_ws_session *s, const char *patch) {
  memset(&err, 0, sizeof err);
  return cay_ws_apply_patch(s, box_text(patch), NULL, &err);
}

/* Files with their modes, and their lines or targets. */
#define LISTING                                                                                              \
  "find . -path ./.git -prune -o ! -type d -print | LC_ALL=C sort | while IFS= read -r f; do"                \
  " printf '%s %s ' \"$f\" $(stat -c %A \"$f\");"                                                            \
  " if [ -L \"$f\" ]; then readlink \"$f\"; else tr '\\n' ' ' < \"$f\"; echo; fi; done"

TEST(a_patch_creates_changes_renames_and_deletes) {
  ws_started w;
  ws_begin(&w, NULL);
  ws_put(w.s, "change", "1\n2\n3\n");
  ws_put(w.s, "dir/gone", "x\n");
  ws_put(w.s, "old name", "a\nb\n");
  ws_put(w.s, "tool", "#!/bin/sh\n");
  EXPECT_EQ(
      apply(
          w.s,
          "diff --git a/change b/change\n--- a/change\n+++ b/change\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n"
          "diff --git a/dir/gone b/dir/gone\ndeleted file mode 100644\n--- a/dir/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
          "diff --git a/old name b/new/name\nsimilarity index 50%\nrename from old name\nrename to new/name\n"
          "--- a/old name\n+++ b/new/name\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
          "diff --git a/tool b/tool\nold mode 100644\nnew mode 100755\n"
          "diff --git a/made b/made\nnew file mode 100755\n--- /dev/null\n+++ b/made\n@@ -0,0 +1 @@\n+new\n"
          "diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+made\n"
          "\\ No newline at end of file\n"),
      CAY_OK);
  EXPECT_TEXT(ws_sh(w.s, LISTING),
              "./change -rw-r--r-- 1 two 3 \n./link lrwxrwxrwx made\n./made -rwxr-xr-x new \n"
              "./new/name -rw-r--r-- a c \n./tool -rwxr-xr-x #!/bin/sh \n");
  ws_end(&w);
}

TEST(a_patch_that_does_not_fit_changes_nothing) {
  ws_started w;
  ws_begin(&w, NULL);
  ws_put(w.s, "a", "1\n");
  ws_put(w.s, "b", "1\n");
  EXPECT_EQ(apply(w.s, "--- a\n+++ a\n@@ -1 +1 @@\n-1\n+2\n--- b\n+++ b\n@@ -1 +1 @@\n-x\n+2\n"),
            CAY_INVALID);
  EXPECT_EQ(err.code, CAY_WS_EXECUTION_FAILED);
  EXPECT_TEXT(err.cause.message, "b: hunk 1 (line 8 of the patch) does not fit near line 1");
  EXPECT_TEXT(err.subject, "b");
  EXPECT_TEXT(ws_sh(w.s, "cat a b; ls -A"), "1\n1\na\nb\n");
  ws_end(&w);
}

TEST(a_full_disk_changes_nothing) {
  cay_limits limits = CAY_INIT(cay_limits, .disk = 64 << 10);
  enum { LEN = 40000 };
  ws_started w;
  ws_begin(&w, &CAY_INIT(cay_ws_manifest, .limits = &limits));
  buf patch = BUF_INIT(BUF_UNLIMITED);
  ws_put(w.s, "a", "1\n");
  EXPECT_EQ(buf_appendf(&patch,
                        "--- a\n+++ a\n@@ -1 +1 @@\n-1\n+2\n--- /dev/null\n+++ big\n@@ -0,0 +1,%d @@\n", LEN),
            CAY_OK);
  for (int i = 0; i < LEN; i++) EXPECT_EQ(buf_append_text(&patch, "+xx\n"), CAY_OK);
  EXPECT(apply(w.s, buf_text(&patch)) != CAY_OK);
  EXPECT_EQ(err.code, CAY_WS_POLICY_VIOLATION);
  EXPECT_TEXT(ws_sh(w.s, "cat a; ls -A"), "1\na\n");
  buf_free(&patch);
  ws_end(&w);
}

TEST(names_that_lead_out_are_path_traversal) {
  ws_started w;
  ws_begin(&w, NULL);
  EXPECT_TEXT(ws_sh(w.s, "ln -s /tmp out; echo 1 > /tmp/f"), "");
  EXPECT_EQ(apply(w.s, "--- /dev/null\n+++ ../x\n@@ -0,0 +1 @@\n+1\n"), CAY_DENIED);
  EXPECT_EQ(err.code, CAY_WS_PATH_TRAVERSAL);
  EXPECT_EQ(apply(w.s, "diff --git a/out/f b/out/f\n--- a/out/f\n+++ b/out/f\n@@ -1 +1 @@\n-1\n+2\n"),
            CAY_DENIED);
  EXPECT_EQ(err.code, CAY_WS_PATH_TRAVERSAL);
  EXPECT_TEXT(ws_sh(w.s, "cat /tmp/f"), "1\n");
  ws_end(&w);
}

TEST(folders_before_names_are_taken_off_as_the_headers_suggest) {
  ws_started w;
  ws_begin(&w, NULL);
  ws_put(w.s, "f", "1\n");
  ws_put(w.s, "sub/f", "1\n");
  EXPECT_EQ(apply(w.s, "--- f\n+++ f\n@@ -1 +1 @@\n-1\n+2\n"), CAY_OK);
  EXPECT_EQ(apply(w.s, "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-2\n+3\n"), CAY_OK);
  EXPECT_EQ(apply(w.s, "--- old/sub/f\t2024-01-01\n+++ new/sub/f\t2024-01-02\n@@ -1 +1 @@\n-1\n+2\n"),
            CAY_OK);
  EXPECT_EQ(apply(w.s, "--- sub/f.orig\n+++ sub/f\n@@ -1 +1 @@\n-2\n+3\n"), CAY_OK);
  EXPECT_EQ(cay_ws_apply_patch(w.s, CAY_TEXT("--- x/y/f\n+++ x/y/f\n@@ -1 +1 @@\n-3\n+4\n"),
                               &CAY_INIT(cay_ws_patch_options, .strip = 3), NULL),
            CAY_OK);
  EXPECT_TEXT(ws_sh(w.s, "cat f sub/f"), "4\n3\n");
  ws_end(&w);
}

TEST(a_patch_without_fuzz_still_finds_its_place) {
  ws_started w;
  ws_begin(&w, NULL);
  ws_put(w.s, "f", "0\n1\n2\n");
  const cay_ws_patch_options none = CAY_INIT(cay_ws_patch_options, .fuzz = CAY_WS_NO_FUZZ);
  EXPECT_EQ(cay_ws_apply_patch(w.s, CAY_TEXT("--- f\n+++ f\n@@ -1,2 +1,2 @@\n-x\n 2\n+3\n"), &none, &err),
            CAY_INVALID);
  cay_slice other = CAY_TEXT("--- f\n+++ f\n@@ -1,2 +1,2 @@\n other\n-2\n+3\n");
  EXPECT_EQ(cay_ws_apply_patch(w.s, other, &none, &err), CAY_INVALID);
  EXPECT_EQ(cay_ws_apply_patch(w.s, CAY_TEXT("--- f\n+++ f\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n"), &none, &err),
            CAY_OK);
  EXPECT_EQ(cay_ws_apply_patch(w.s, CAY_TEXT("--- f\n+++ f\n@@ -1,2 +1,2 @@\n other\n-3\n+4\n"), NULL, &err),
            CAY_OK);
  EXPECT_TEXT(ws_sh(w.s, "cat f"), "0\n1\n4\n");
  ws_end(&w);
}

TEST(strict_patches_accept_no_offset) {
  ws_started w;
  ws_begin(&w, NULL);
  ws_put(w.s, "f", "0\n1\n2\n");
  cay_slice patch = CAY_TEXT("--- f\n+++ f\n@@ -1 +1 @@\n-1\n+2\n");
  EXPECT_EQ(cay_ws_apply_patch(w.s, patch, &CAY_INIT(cay_ws_patch_options, .strict = true), &err),
            CAY_INVALID);
  ws_end(&w);
}

/* ---- the same as patch(1) and git(1) ---- */

static int tool(const char *format, const char *dir) {
  char command[1024];
  (void)snprintf(command, sizeof command, format, dir, dir, dir, dir);
  int status = system(command);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void put_host(const char *dir, const char *name, const buf *b) {
  char path[512];
  (void)snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "w");
  EXPECT(f != NULL);
  EXPECT_EQ(fwrite(buf_text(b), 1, b->len, f), b->len);
  EXPECT_EQ(fclose(f), 0);
}

static void get_host(const char *dir, const char *name, buf *b) {
  char path[512];
  (void)snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *f = fopen(path, "r");
  EXPECT(f != NULL);
  buf_clear(b);
  void *room = buf_room(b, 65536);
  buf_grew(b, fread(room, 1, 65536, f));
  EXPECT_EQ(fclose(f), 0);
}

/* Lines that repeat, so that places are ambiguous. */
static void random_lines(rng *r, size_t most, buf *out) {
  static const char *const words[] = { "a", "b", "c", "{", "}", "", "x = 1", "return" };
  size_t count = rng_u64(r) % (most + 1);
  buf_clear(out);
  for (size_t i = 0; i < count; i++) {
    bool end = i + 1 == count && rng_u64(r) % 4 == 0;
    EXPECT_EQ(buf_appendf(out, "%s%s", words[rng_u64(r) % COUNT_OF(words)], end ? "" : "\n"), CAY_OK);
  }
}

/* A few lines changed, removed or added. */
static void mutate(rng *r, const buf *old, size_t one_in, buf *out) {
  const char *at = buf_text(old), *end = at + old->len;
  buf_clear(out);
  while (at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at)), *next = stop != NULL ? stop + 1 : end;
    uint64_t chance = rng_u64(r) % one_in;
    if (chance == 0) EXPECT_EQ(buf_appendf(out, "new %d\n", (int)(rng_u64(r) % 10)), CAY_OK);
    if (chance != 1) EXPECT_EQ(buf_append(out, at, (size_t)(next - at)), CAY_OK);
    if (chance == 2) EXPECT_EQ(buf_append_text(out, "b\n"), CAY_OK);
    at = next;
  }
}

static cay_status apply_ours(const buf *old, const buf *patch, buf *new) {
  ws_patch p = { 0 };
  cay_error why;
  buf_clear(new);
  cay_status status = ws_patch_read((cay_slice){ patch->data, patch->len }, &p, &why);
  if (status == CAY_OK)
    status =
        ws_patch_hunks(&p, p.files, (cay_slice){ old->data, old->len }, &(ws_fuzz){ false, 2 }, new, &why);
  ws_patch_free(&p);
  return status;
}

static void show_difference(size_t number, const buf *old, const buf *patch, const buf *theirs,
                            const buf *ours) {
  fprintf(stderr, "case %zu\n--- file\n%s\n--- patch\n%s\n--- patch(1)\n%s\n--- ours\n%s\n", number,
          buf_text(old), buf_text(patch), buf_text(theirs), buf_text(ours));
}

static bool equal_bytes(const buf *a, const buf *b) {
  return a->len == b->len && memcmp(buf_text(a), buf_text(b), a->len) == 0;
}

/* Where patch(1) has passed over a last line without an end, it joins a new one to that. We do not. */
static bool equal_but_joined(const buf *theirs, const buf *ours) {
  size_t at = 0;
  while (at < theirs->len && at < ours->len && buf_text(theirs)[at] == buf_text(ours)[at]) at++;
  return ours->len == theirs->len + 1 && buf_text(ours)[at] == '\n' &&
         memcmp(buf_text(theirs) + at, buf_text(ours) + at + 1, theirs->len - at) == 0;
}

/* diff(1) makes a patch of two files; it is applied to the first as it is or changed a little. patch(1) does not always
 * succeed, and neither do we: the same must succeed, and give the same bytes. */
TEST(hunks_go_where_patch_puts_them) {
  size_t cases = test_is_soak() ? 5000 : 250, applied = 0, refused = 0;
  const char *dir = test_dir();
  rng r;
  rng_seed_number(&r, test_seed(7));
  buf old = BUF_INIT(BUF_UNLIMITED), new = BUF_INIT(BUF_UNLIMITED), base = BUF_INIT(BUF_UNLIMITED);
  buf patch = BUF_INIT(BUF_UNLIMITED), theirs = BUF_INIT(BUF_UNLIMITED), ours = BUF_INIT(BUF_UNLIMITED);
  for (size_t i = 0; i < cases; i++) {
    random_lines(&r, 40, &old);
    mutate(&r, &old, 8, &new);
    mutate(&r, &old, i % 2 == 0 ? 1000000 : 10, &base);
    if (old.len == 0 || new.len == 0 || base.len == 0) continue;
    put_host(dir, "old", &old), put_host(dir, "new", &new), put_host(dir, "base", &base);
    static const char *const diffs[] = { "cd %s && diff -U1 old new > patch",
                                         "cd %s && diff -u old new > patch",
                                         "cd %s && diff -U0 old new > patch" };
    if (tool(diffs[i % COUNT_OF(diffs)], dir) != 1) continue;
    get_host(dir, "patch", &patch);
    int code = tool("cd %s && rm -f out out.rej && patch -s -f -F2 -o out base patch >/dev/null 2>&1", dir);
    cay_status status = apply_ours(&base, &patch, &ours);
    if (code == 0) get_host(dir, "out", &theirs);
    bool endless = buf_text(&base)[base.len - 1] != '\n';
    bool same = (code == 0) == (status == CAY_OK) &&
                (code != 0 || equal_bytes(&theirs, &ours) || (endless && equal_but_joined(&theirs, &ours)));
    if (!same) show_difference(i, &base, &patch, &theirs, &ours);
    EXPECT(same);
    applied += code == 0;
    refused += code != 0;
  }
  EXPECT(applied > cases / 3 && refused > 0);
  buf_free(&old), buf_free(&new), buf_free(&base), buf_free(&patch), buf_free(&theirs), buf_free(&ours);
}

static void copy_tree(const char *dir, cay_ws_session *s) {
  cay_buf tar = { 0 };
  char path[512];
  buf bytes = BUF_INIT(BUF_UNLIMITED);
  EXPECT_EQ(tool("cd %s/git && git archive --format=tar -o ../first.tar HEAD", dir), 0);
  (void)snprintf(path, sizeof path, "%s/first.tar", dir);
  FILE *f = fopen(path, "r");
  EXPECT(f != NULL);
  void *room = buf_room(&bytes, 1 << 20);
  buf_grew(&bytes, fread(room, 1, 1 << 20, f));
  EXPECT_EQ(fclose(f), 0);
  tar = buf_take(&bytes);
  EXPECT_EQ(cay_ws_write_file(s, "first.tar", (cay_slice){ tar.data, tar.len }, 0, NULL), CAY_OK);
  cay_buf_free(&tar);
  EXPECT_TEXT(ws_sh(s, "tar xf first.tar && rm first.tar"), "");
}

/* A tree is changed at random, and git(1) writes the patch, with renames, modes, links and odd names. Applied to the tree
 * before, it gives the tree after. */
TEST(patches_of_git_give_the_tree_after) {
  const char *dir = test_dir();
  static char want[65536];
  static const char script[] =
      "cd %s && rm -rf git && git init -q git && cd git && git config user.email x@x && git config user.name x &&"
      " mkdir -p src/deep && seq 1 60 > src/a && seq 1 9 > 'src/two words' && printf 'no end' > end && seq 5 > src/deep/gone &&"
      " ln -s src/a link && seq 30 > move && printf '#!/bin/sh\\n' > tool && printf '\\303\\244\\n' > \"$(printf '\\303\\244\\t')\" && : > empty && git add -A && git commit -qm 1 &&"
      " sed -i '5d;30s/^/x/;55a y' src/a && printf 'no end yet' > end && git rm -q src/deep/gone && rm link && ln -s end link &&"
      " mkdir new && git mv move new/moved && sed -i 3s/^/z/ new/moved && chmod +x tool && echo more >> \"$(printf '\\303\\244\\t')\" && rm empty && : > void && echo 'a b' > 'new/c d' && git add -A &&"
      " git diff --cached -M > ../git.patch";
  ws_started w;
  ws_begin(&w, NULL);
  EXPECT_EQ(tool(script, dir), 0);
  copy_tree(dir, w.s);
  buf patch = BUF_INIT(BUF_UNLIMITED), listing = BUF_INIT(BUF_UNLIMITED);
  get_host(dir, "git.patch", &patch);
  if (cay_ws_apply_patch(w.s, (cay_slice){ patch.data, patch.len },
                         &CAY_INIT(cay_ws_patch_options, .strict = true), &err) != CAY_OK)
    test_fail_text(__FILE__, __LINE__, "apply", "", err.cause.message);
  buf script_text = BUF_INIT(BUF_UNLIMITED);
  EXPECT_EQ(buf_append_text(&script_text, LISTING), CAY_OK);
  put_host(dir, "list", &script_text);
  buf_free(&script_text);
  EXPECT_EQ(tool("cd %s/git && chmod -R u=rwX,go=rX . && sh ../list > ../listing", dir), 0);
  get_host(dir, "listing", &listing);
  (void)snprintf(want, sizeof want, "%s", buf_text(&listing));
  EXPECT_TEXT(ws_sh(w.s, LISTING), want);
  buf_free(&patch), buf_free(&listing);
  ws_end(&w);
}
