#include "workspace/path.h"

#include "box.h"

static const char *clean(const char *path) {
  static ws_path out;
  cay_ws_error err;
  if (ws_path_clean((cay_slice){ path, strlen(path) }, &out, &err) == CAY_OK) return out.text;
  return cay_ws_code_name(err.code);
}

TEST(paths_are_cleaned_by_text) {
  static const struct {
    const char *path, *want;
  } cases[] = {
    { "file.txt", "file.txt" },
    { "src/main.rs", "src/main.rs" },
    { "a/b/../c/file.txt", "a/c/file.txt" },
    { "./file.txt", "file.txt" },
    { "./src/./main.rs", "src/main.rs" },
    { "a/b/..", "a" },
    { "a/..", "." },
    { ".", "." },
    { "a//b/", "a/b" },
    { "a/...", "a/..." },
    { "..a", "..a" },
    { "a\\b", "a\\b" },
    { "C:x", "C:x" },
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) EXPECT_TEXT(clean(cases[i].path), cases[i].want);
}

TEST(paths_that_lead_out_are_path_traversal) {
  static const char *const paths[] = { "",
                                       "/",
                                       "/etc/passwd",
                                       "..",
                                       "../escape",
                                       "a/../../escape",
                                       "./..",
                                       "a/b/../../../escape",
                                       "\\Windows",
                                       "C:\\Users",
                                       "c:/",
                                       "D:",
                                       "/workspace/x" };
  for (size_t i = 0; i < COUNT_OF(paths); i++) EXPECT_TEXT(clean(paths[i]), "PathTraversal");
}

TEST(a_nul_byte_in_a_path_is_path_traversal) {
  ws_path out;
  cay_ws_error err;
  EXPECT_EQ(ws_path_clean((cay_slice){ "a\0b", 3 }, &out, &err), CAY_DENIED);
  EXPECT_EQ(err.code, CAY_WS_PATH_TRAVERSAL);
}

TEST(path_traversal_names_the_path) {
  ws_path out;
  cay_ws_error err;
  EXPECT_EQ(ws_path_clean(CAY_TEXT("../../x"), &out, &err), CAY_DENIED);
  EXPECT_TEXT(err.subject, "../../x");
  EXPECT_TEXT(err.cause.message, "../../x: it leads out of the workspace");
}

TEST(names_and_paths_that_are_too_long_are_refused) {
  char name[WS_NAME_MAX + 2], path[WS_PATH_MAX + 2];
  memset(name, 'x', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  EXPECT_TEXT(clean(name), "ExecutionFailed");
  name[WS_NAME_MAX] = '\0';
  EXPECT_TEXT(clean(name), name);
  for (size_t i = 0; i < sizeof path - 1; i++) path[i] = i % 2 == 0 ? 'd' : '/';
  path[sizeof path - 1] = '\0';
  EXPECT_TEXT(clean(path), "ExecutionFailed");
}

/* A sandbox with links inside and outside of the workspace. */
static cay_sandbox *linked(void) {
  static const struct {
    const char *target, *path;
  } links[] = { { "dir/file", WS_ROOT "/inside" },     { "/workspace/dir", WS_ROOT "/absolute" },
                { "/etc/passwd", WS_ROOT "/outside" }, { "../../etc", WS_ROOT "/dir/up" },
                { "loop", WS_ROOT "/loop" },           { "..", WS_ROOT "/dir/back" },
                { "/workspaces", WS_ROOT "/near" },    { "missing/x", WS_ROOT "/dangling" } };
  cay_sandbox *box = box_new();
  EXPECT_EQ(cay_file_write(box, WS_ROOT "/dir/file", CAY_TEXT("x"), 0, NULL), CAY_OK);
  for (size_t i = 0; i < COUNT_OF(links); i++)
    EXPECT_EQ(cay_file_symlink(box, links[i].target, links[i].path, NULL), CAY_OK);
  return box;
}

static const char *place(cay_sandbox *box, const char *path, bool last) {
  static ws_path out;
  cay_ws_error err;
  if (ws_path_resolve(box, path, last, &out, &err) == CAY_OK) return out.text;
  return cay_ws_code_name(err.code);
}

TEST(links_are_followed_within_the_workspace) {
  cay_sandbox *box = linked();
  EXPECT_TEXT(place(box, ".", true), "/workspace");
  EXPECT_TEXT(place(box, "dir/file", true), "/workspace/dir/file");
  EXPECT_TEXT(place(box, "inside", true), "/workspace/dir/file");
  EXPECT_TEXT(place(box, "inside", false), "/workspace/inside");
  EXPECT_TEXT(place(box, "absolute/file", true), "/workspace/dir/file");
  EXPECT_TEXT(place(box, "dir/back/inside", true), "/workspace/dir/file");
  EXPECT_TEXT(place(box, "dangling", true), "/workspace/missing/x");
  EXPECT_TEXT(place(box, "not/there/yet", true), "/workspace/not/there/yet");
  cay_sandbox_free(box);
}

TEST(links_that_lead_out_are_path_traversal) {
  cay_sandbox *box = linked();
  EXPECT_TEXT(place(box, "outside", true), "PathTraversal");
  EXPECT_TEXT(place(box, "outside", false), "/workspace/outside");
  EXPECT_TEXT(place(box, "dir/up/passwd", false), "PathTraversal");
  EXPECT_TEXT(place(box, "near/x", true), "PathTraversal");
  EXPECT_TEXT(place(box, "loop/x", true), "ExecutionFailed");
  cay_sandbox_free(box);
}
