#include "workspace/patch.h"

#include "test.h"

#include <cay/cay.h>

static cay_error err;

/* The first file of `patch` applied to `old`; the message of the failure in parentheses. Borrowed until the next. */
static const char *applied(const char *old, const char *patch, const ws_fuzz *how) {
  static char out[4096];
  static const ws_fuzz standard = { false, 2 };
  ws_patch p = { 0 };
  buf new = BUF_INIT(BUF_UNLIMITED);
  cay_status status = ws_patch_read((cay_slice){ patch, strlen(patch) }, &p, &err);
  if (status == CAY_OK)
    status = ws_patch_hunks(&p, p.files, (cay_slice){ old, strlen(old) }, how != NULL ? how : &standard, &new,
                            &err);
  (void)snprintf(out, sizeof out, status == CAY_OK ? "%s" : "(%s)",
                 status == CAY_OK ? buf_text(&new) : err.message);
  buf_free(&new);
  ws_patch_free(&p);
  return out;
}

#define HEAD "--- f\n+++ f\n"
#define TEN "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

TEST(a_hunk_applies_at_its_line) {
  EXPECT_TEXT(applied(TEN, HEAD "@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n", NULL),
              "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n");
}

TEST(a_hunk_without_counts_is_one_line) {
  EXPECT_TEXT(applied("a\n", HEAD "@@ -1 +1 @@\n-a\n+b\n", NULL), "b\n");
}

TEST(a_hunk_applies_with_an_offset_and_moves_the_next) {
  EXPECT_TEXT(
      applied("x\ny\n" TEN, HEAD "@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n@@ -8,3 +8,2 @@\n 8\n-9\n 10\n", NULL),
      "x\ny\n1\n2\n3\n4\nfive\n6\n7\n8\n10\n");
}

TEST(strict_mode_refuses_an_offset) {
  static const ws_fuzz strict = { true, 0 };
  const char *patch = HEAD "@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n";
  EXPECT_TEXT(applied(TEN, patch, &strict), "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n");
  EXPECT_TEXT(applied("x\n" TEN, patch, &strict), "(hunk 1 (line 3 of the patch) does not fit near line 4)");
}

TEST(fuzz_passes_over_context_that_differs_and_keeps_the_files) {
  const char *patch = HEAD "@@ -3,5 +3,5 @@\n THREE\n 4\n-5\n+five\n 6\n SEVEN\n";
  static const ws_fuzz none = { false, 0 };
  EXPECT_TEXT(applied(TEN, patch, NULL), "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n");
  EXPECT_TEXT(applied(TEN, patch, &none), "(hunk 1 (line 3 of the patch) does not fit near line 3)");
}

TEST(lines_without_an_end_are_kept) {
  EXPECT_TEXT(
      applied("a\nb",
              HEAD
              "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
              NULL),
      "a\nc");
  EXPECT_TEXT(applied("a\nb", HEAD "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n", NULL),
              "a\nb\n");
  EXPECT_TEXT(applied("a\nb\n", HEAD "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n", NULL),
              "a\nb");
}

TEST(a_line_behind_one_without_an_end_is_a_line_of_its_own) {
  EXPECT_TEXT(applied("a\nb", HEAD "@@ -2,0 +3 @@\n+x\n", NULL), "a\nb\nx\n");
  EXPECT_TEXT(applied("a\nb", HEAD "@@ -1,2 +1,3 @@\n a\n B\n+x\n", NULL), "a\nb\nx\n");
}

TEST(context_that_is_passed_over_is_looked_for_within_the_file) {
  EXPECT_TEXT(applied("x\nx\nx\na\nb\n", HEAD "@@ -1,2 +1,3 @@\n a\n+1\n b\n@@ -5 +6,2 @@\n c\n+2\n", NULL),
              "x\nx\nx\na\n1\nb\n2\n");
}

TEST(a_hunk_begins_in_the_context_of_the_one_before) {
  EXPECT_TEXT(
      applied("a\nb\nc\nd\n", HEAD "@@ -1,3 +1,3 @@\n-a\n+A\n b\n c\n@@ -3,2 +3,2 @@\n c\n-d\n+D\n", NULL),
      "A\nb\nc\nD\n");
  EXPECT_TEXT(applied("a\nb\n", HEAD "@@ -1,2 +1,2 @@\n a\n-b\n+B\n@@ -2 +2 @@\n-b\n+C\n", NULL),
              "(hunk 2 (line 7 of the patch) does not fit near line 2)");
}

TEST(an_insertion_without_context_goes_behind_its_line) {
  static const ws_fuzz strict = { true, 0 };
  EXPECT_TEXT(applied("a\nb\n", HEAD "@@ -9,0 +10 @@\n+x\n", NULL), "a\nb\nx\n");
  EXPECT_TEXT(applied("a\nb\n", HEAD "@@ -9,0 +10 @@\n+x\n", &strict),
              "(hunk 1 (line 3 of the patch) does not fit near line 9)");
  EXPECT_TEXT(applied("a\nb\n", HEAD "@@ -1,0 +2,1 @@\n+x\n", NULL), "a\nx\nb\n");
  EXPECT_TEXT(applied("a\nb\n", HEAD "@@ -0,0 +1,1 @@\n+x\n", NULL), "x\na\nb\n");
}

TEST(a_failure_names_hunk_and_line) {
  EXPECT_TEXT(applied(TEN, HEAD "@@ -1,1 +1,1 @@\n-1\n+one\n@@ -4,1 +4,1 @@\n-four\n+4\n", NULL),
              "(hunk 2 (line 6 of the patch) does not fit near line 4)");
}

TEST(hunks_that_cannot_be_read_name_their_line) {
  EXPECT_TEXT(applied("", HEAD "@@ -1,2 +1,2 @@\n a\n", NULL),
              "(line 5 of the patch: the patch ends within a hunk)");
  EXPECT_TEXT(applied("", HEAD "@@ -1,1 +1,1 @@\n-a\n-b\n", NULL),
              "(line 5 of the patch: not a line of the hunk, or one too many)");
  EXPECT_TEXT(applied("", HEAD "@@ -1,99999999999 +1 @@\n", NULL),
              "(line 3 of the patch: the header of a hunk cannot be read)");
  EXPECT_TEXT(applied("", "@@ -1 +1 @@\n-a\n+b\n", NULL),
              "(line 1 of the patch: a hunk without the header of its file)");
  EXPECT_TEXT(applied("", "hello\n", NULL), "(no unified diff is in the patch)");
}

/* "kind old new oldmode newmode hunks" of each file. */
static const char *read_files(const char *patch) {
  static const char kinds[] = "MCDRY";
  static char out[4096];
  ws_patch p = { 0 };
  size_t len = 0;
  if (ws_patch_read((cay_slice){ patch, strlen(patch) }, &p, &err) != CAY_OK) return err.message;
  out[0] = '\0';
  for (size_t i = 0; i < p.file_count; i++) {
    const ws_patch_file *f = &p.files[i];
    len += (size_t)snprintf(out + len, sizeof out - len, "%c %s %s %o %o %zu;", kinds[f->kind],
                            f->old_name != NULL ? f->old_name : "-", f->new_name != NULL ? f->new_name : "-",
                            f->old_mode, f->new_mode, f->hunk_count);
  }
  ws_patch_free(&p);
  return out;
}

TEST(headers_of_git_are_read) {
  EXPECT_TEXT(
      read_files("diff --git a/x b/x\nindex 1234..5678 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"),
      "M a/x b/x 100644 100644 1;");
  EXPECT_TEXT(
      read_files(
          "diff --git a/x b/x\nnew file mode 100755\nindex 0..1\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n"),
      "C - b/x 0 100755 1;");
  EXPECT_TEXT(
      read_files("diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n"),
      "D a/x - 100644 0 1;");
  EXPECT_TEXT(read_files("diff --git a/e b/e\nnew file mode 100644\nindex 000..e69\n"),
              "C a/e b/e 0 100644 0;");
  EXPECT_TEXT(read_files("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n"),
              "R x y 0 0 0;");
  EXPECT_TEXT(read_files("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"),
              "M a/x b/x 100644 100755 0;");
  EXPECT_TEXT(read_files("diff --git a/two words b/two words\nold mode 100644\nnew mode 100755\n"),
              "M a/two words b/two words 100644 100755 0;");
  EXPECT_TEXT(
      read_files(
          "diff --git \"a/t\\tb\\303\\244\" \"b/t\\tb\\303\\244\"\nold mode 100644\nnew mode 100755\n"),
      "M a/t\tb\xc3\xa4 b/t\tb\xc3\xa4 100644 100755 0;");
}

TEST(headers_of_diff_are_read) {
  EXPECT_TEXT(
      read_files("Only in d: x\ndiff -ru old/f new/f\n--- old/f\t2024-01-01 00:00:00.000000000 +0000\n"
                 "+++ new/f\t2024-01-01 00:00:00.000000000 +0000\n@@ -1 +1 @@\n-a\n+b\n"),
      "M old/f new/f 0 0 1;");
  EXPECT_TEXT(
      read_files("--- old/f\t1970-01-01 01:00:00.000000000 +0100\n+++ new/f\t2024-01-01 00:00:00 +0000\n"
                 "@@ -0,0 +1 @@\n+b\n"),
      "C - new/f 0 0 1;");
  EXPECT_TEXT(
      read_files("--- old/f\t2024-01-01 00:00:00 +0000\n+++ new/f\t1969-12-31 19:00:00.000000000 -0500\n"
                 "@@ -1 +0,0 @@\n-b\n"),
      "D old/f - 0 0 1;");
}

TEST(patches_of_other_kinds_are_refused_clearly) {
  EXPECT_TEXT(read_files("diff --git a/x b/x\nindex 1..2 100644\nGIT binary patch\nliteral 1\n"),
              "line 3 of the patch: a binary patch");
  EXPECT_TEXT(read_files("diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n"),
              "line 3 of the patch: a binary patch");
  EXPECT_TEXT(read_files("diff --git a/s b/s\nnew file mode 160000\n"), "line 2 of the patch: a submodule");
  EXPECT_TEXT(read_files("*** f\t2024\n--- f\t2024\n***************\n"),
              "line 1 of the patch: a context diff; a unified one is needed");
  EXPECT_TEXT(read_files("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n"),
              "line 1 of the patch: the header names no file");
}

TEST(a_hostile_search_is_ended) {
  enum { LINES = 60000 };
  buf old = BUF_INIT(BUF_UNLIMITED), patch = BUF_INIT(BUF_UNLIMITED), new = BUF_INIT(BUF_UNLIMITED);
  ws_patch p = { 0 };
  for (int i = 0; i < LINES; i++) EXPECT_EQ(buf_append_text(&old, "x\n"), CAY_OK);
  EXPECT_EQ(buf_appendf(&patch, HEAD "@@ -1,%d +1,%d @@\n", LINES / 2 + 1, LINES / 2), CAY_OK);
  for (int i = 0; i < LINES / 2 + 1; i++)
    EXPECT_EQ(buf_append_text(&patch, i == LINES / 4 ? "-y\n" : " x\n"), CAY_OK);
  EXPECT_EQ(ws_patch_read((cay_slice){ patch.data, patch.len }, &p, &err), CAY_OK);
  EXPECT_EQ(ws_patch_hunks(&p, p.files, (cay_slice){ old.data, old.len }, &(ws_fuzz){ false, 2 }, &new, &err),
            CAY_LIMIT);
  ws_patch_free(&p);
  buf_free(&old), buf_free(&patch), buf_free(&new);
}

TEST(a_patch_without_memory_leaks_nothing) {
  static const char patch[] =
      "diff --git \"a/x\" b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n";
  AT_EVERY_FAULT {
    ws_patch p = { 0 };
    buf new = BUF_INIT(BUF_UNLIMITED);
    cay_status status = ws_patch_read(CAY_TEXT(patch), &p, &err);
    if (status == CAY_OK)
      status = ws_patch_hunks(&p, p.files, CAY_TEXT(""), &(ws_fuzz){ false, 2 }, &new, &err);
    if (status != CAY_OK) EXPECT_EQ(status, CAY_NO_MEMORY);
    buf_free(&new);
    ws_patch_free(&p);
  }
}
