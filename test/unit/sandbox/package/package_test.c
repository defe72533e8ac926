/* package_test.c - packages of pure Python: wheels, folders and modules of the host. */
#include "box.h"
#include "sandbox/package/package.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

typedef struct entry {
  const char *name, *text;
} entry;

#define END { NULL, NULL }
#define META { "thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n" }

static const char *path_of(const char *name) {
  static char paths[4][512];
  static unsigned next;
  char *path = paths[next++ % 4];
  (void)snprintf(path, sizeof paths[0], "%s/%s", test_dir(), name);
  return path;
}

static const char *a_file(const char *name, const char *text) {
  const char *path = path_of(name);
  FILE *f = fopen(path, "w");
  EXPECT(f != NULL);
  (void)fputs(text, f);
  EXPECT_EQ(fclose(f), 0);
  return path;
}

static const char *a_wheel(const char *name, const entry *entries) {
  const char *path = path_of(name);
  zipFile zip = zipOpen64(path, APPEND_STATUS_CREATE);
  EXPECT(zip != NULL);
  for (; entries->name != NULL; entries++) {
    EXPECT_EQ(zipOpenNewFileInZip64(zip, entries->name, NULL, NULL, 0, NULL, 0, NULL, Z_DEFLATED, 6, 1),
              ZIP_OK);
    EXPECT_EQ(zipWriteInFileInZip(zip, entries->text, (unsigned)strlen(entries->text)), ZIP_OK);
    EXPECT_EQ(zipCloseFileInZip(zip), ZIP_OK);
  }
  EXPECT_EQ(zipClose(zip, NULL), ZIP_OK);
  return path;
}

static const char *the_wheel(void) {
  return a_wheel(
      "thing-1.0-py3-none-any.whl",
      (entry[]){
          { "thing/__init__.py", "value = 42\ndef main():\n    print('ran')\n    return 3\n" },
          { "thing-1.0.data/purelib/pure.py", "x = 'pure'\n" },
          { "thing-1.0.data/data/share/thing", "left out" },
          { "thing-1.0.data/scripts/say", "#!/bin/sh\necho said\n" },
          { "thing-1.0.dist-info/entry_points.txt",
            "[other]\nno = thing:none\n\n[console_scripts]\n# of these\nthing-run = thing:main [more]\n" },
          META,
          END });
}

static void expect_out(cay_sandbox *box, const char *command, const char *out) {
  cay_result *r = NULL;
  cay_error err = { 0 };
  if (cay_run(box, &CAY_INIT(cay_run_options, .command = command), &r, &err) != CAY_OK)
    EXPECT_TEXT(err.message, "a result");
  if (r->err.len != 0) EXPECT_TEXT((const char *)r->err.data, "nothing on stderr");
  EXPECT_TEXT((const char *)r->out.data, out);
  cay_result_free(r);
}

static void expect_refused(const char *path, cay_status status, const char *why) {
  cay_sandbox *box = box_new();
  cay_error err = { 0 };
  EXPECT_EQ(cay_sandbox_install(box, path, &err), status);
  if (strstr(err.message, why) == NULL) EXPECT_TEXT(err.message, why);
  cay_stat st;
  EXPECT_EQ(cay_file_stat(box, PACKAGE_PLACE "/thing", &st, NULL), CAY_NOT_FOUND);
  cay_sandbox_free(box);
}

TEST(sandboxes_share_packages_and_not_what_they_change) {
  cay_packages *packages = NULL;
  cay_error err = { 0 };
  static char long_text[1 << 16];
  memset(long_text, '#', sizeof long_text - 1);
  memcpy(long_text, "y = 2\n", 6);
  const char *paths[] = { the_wheel(), a_file("single.py", long_text), NULL };
  if (cay_packages_open(box_engine(), paths, &packages, &err) != CAY_OK) EXPECT_TEXT(err.message, "packages");
  cay_sandbox *one = NULL, *two = NULL;
  cay_sandbox_options o = CAY_INIT(cay_sandbox_options, .packages = packages);
  EXPECT_EQ(cay_sandbox_new(box_engine(), &o, &one, &err), CAY_OK);
  EXPECT_EQ(cay_sandbox_new(box_engine(), &o, &two, &err), CAY_OK);
  cay_packages_free(packages); /* they keep their references */
  const char *use = "python3 -c 'import thing, pure, single; print(thing.value, pure.x, single.y)'";
  expect_out(one, use, "42 pure 2\n");
  expect_out(one,
             "thing-run; echo $?; say; ls -d " PACKAGE_PLACE
             "/share 2>&1 | wc -l; stat -c %a /usr/local/bin/say",
             "ran\n3\nsaid\n1\n755\n");
  EXPECT_EQ(
      cay_file_write(one, PACKAGE_PLACE "/thing/__init__.py", (cay_slice){ "value = 1\n", 10 }, 0, &err),
      CAY_OK);
  expect_out(one, use, "1 pure 2\n");
  expect_out(two, use, "42 pure 2\n");
  cay_usage used;
  cay_sandbox_usage(two, &used);
  EXPECT(used.disk < 8192); /* what the interpreter left, and nothing of the packages */
  cay_sandbox_free(one);
  cay_sandbox_free(two);
}

TEST(a_sandbox_that_is_there_gets_one_more) {
  cay_sandbox *box = box_new();
  cay_error err = { 0 };
  EXPECT_EQ(cay_sandbox_install(box, the_wheel(), &err), CAY_OK);
  expect_out(box, "python3 -c 'import importlib.metadata as m; print(m.version(\"thing\"))'", "1.0\n");
  cay_sandbox_free(box);
}

TEST(folders_are_packages_or_hold_them) {
  cay_sandbox *box = box_new();
  cay_error err = { 0 };
  char root[512];
  (void)snprintf(root, sizeof root, "%s", path_of("mine"));
  EXPECT_EQ(mkdir(root, 0755), 0);
  (void)a_file("mine/__init__.py", "from .part import f\n");
  (void)a_file("mine/part.py", "def f(): return 'mine'\n");
  EXPECT_EQ(mkdir(path_of("mine/__pycache__"), 0755), 0);
  (void)a_file("mine/__pycache__/part.cpython-313.pyc", "stale");
  EXPECT_EQ(mkdir(path_of("loose"), 0755), 0);
  (void)a_file("loose/one.py", "x = 1\n");
  (void)strcat(root, "//");
  EXPECT_EQ(cay_sandbox_install(box, root, &err), CAY_OK);
  EXPECT_EQ(cay_sandbox_install(box, path_of("loose"), &err), CAY_OK);
  expect_out(box,
             "python3 -c 'import mine, one; print(mine.f(), one.x)'; ls " PACKAGE_PLACE "/mine | grep -c py$",
             "mine 1\n2\n");
  cay_sandbox_free(box);
}

TEST(machine_code_is_refused) {
  const entry native[] = { META, { "thing/__init__.py", "" }, { "thing/core.cpython-313.so", "x" }, END };
  expect_refused(a_wheel("sly-1.0-py3-none-any.whl", native), CAY_UNSUPPORTED, "machine code");
  const entry versioned[] = { META, { "thing/libx.so.1", "x" }, END };
  expect_refused(a_wheel("sly2-1.0-py3-none-any.whl", versioned), CAY_UNSUPPORTED, "machine code");
  const entry plain[] = { META, END };
  expect_refused(a_wheel("fast-1.0-cp313-cp313-manylinux_2_17_x86_64.whl", plain), CAY_UNSUPPORTED,
                 "manylinux_2_17");
  expect_refused(a_wheel("old-1.0-py2-none-any.whl", plain), CAY_UNSUPPORTED, "another Python");
  expect_refused(a_wheel("new-1.0-py314-none-any.whl", plain), CAY_UNSUPPORTED, "another Python");
}

TEST(names_that_lead_out_are_refused) {
  static const char *const names[] = {
    "../../etc/x.py", "/etc/x.py",   "thing/../../x.py",           "thing//x.py",
    "./x.py",         "thing\\x.py", "thing-1.0.data/scripts/../x"
  };
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    const entry entries[] = { META, { "thing/__init__.py", "" }, { names[i], "x" }, END };
    expect_refused(a_wheel("out-1.0-py3-none-any.whl", entries), CAY_INVALID, "leads out");
  }
}

TEST(a_command_that_would_be_code_is_refused) {
  static const char *const lines[] = { "a = os;import:x", "../x = thing:main", "x = thing:main()",
                                       " = thing:main" };
  for (size_t i = 0; i < COUNT_OF(lines); i++) {
    char text[200];
    (void)snprintf(text, sizeof text, "[console_scripts]\n%s\n", lines[i]);
    const entry entries[] = { { "thing-1.0.dist-info/entry_points.txt", text }, END };
    expect_refused(a_wheel("cmd-1.0-py3-none-any.whl", entries), CAY_CORRUPT, "a command that cannot be");
  }
}

TEST(malformed_wheel_is_refused) {
  expect_refused(a_file("text-1.0-py3-none-any.whl", "no zip"), CAY_CORRUPT, "not a zip archive");
  expect_refused(path_of("none.whl"), CAY_NOT_FOUND,
                 "is no wheel, no archive of npm, no folder and no module");
  expect_refused(a_file("some.txt", "x"), CAY_NOT_FOUND,
                 "is no wheel, no archive of npm, no folder and no module");
  const entry bare[] = { { "x.py", "x = 1" }, END };
  expect_refused(a_wheel("bare-1.0-py3-none-any.whl", bare), CAY_CORRUPT, "no .dist-info");
}

TEST(a_damaged_wheel_is_refused) {
  const char *path = the_wheel();
  struct stat st;
  EXPECT_EQ(stat(path, &st), 0);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  char text[4];
  EXPECT_EQ(pread(fd, text, 4, 75), 4); /* in the compressed bytes of the first file */
  text[0] = (char)(text[0] ^ 0x55);
  EXPECT_EQ(pwrite(fd, text, 4, 75), 4);
  EXPECT_EQ(close(fd), 0);
  expect_refused(path, CAY_CORRUPT, "a file");
  path = the_wheel();
  EXPECT_EQ(truncate(path, st.st_size - 40), 0);
  expect_refused(path, CAY_CORRUPT, "is no wheel");
}

TEST(a_bomb_ends_at_the_limit) {
  const char *path = path_of("bomb-1.0-py3-none-any.whl");
  zipFile zip = zipOpen64(path, APPEND_STATUS_CREATE);
  static char zeros[1 << 20];
  EXPECT_EQ(zipOpenNewFileInZip64(zip, "thing/big.txt", NULL, NULL, 0, NULL, 0, NULL, Z_DEFLATED, 1, 1),
            ZIP_OK);
  for (int i = 0; i < 257; i++) EXPECT_EQ(zipWriteInFileInZip(zip, zeros, sizeof zeros), ZIP_OK);
  EXPECT_EQ(zipCloseFileInZip(zip), ZIP_OK);
  EXPECT_EQ(zipClose(zip, NULL), ZIP_OK);
  expect_refused(path, CAY_LIMIT, "larger than");
}
