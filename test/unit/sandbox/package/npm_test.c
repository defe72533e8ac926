/* npm_test.c - packages of JavaScript: archives of npm and folders of the host. */
#include "box.h"
#include "sandbox/package/package.h"

#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

typedef struct entry {
  const char *name, *text;
  char type; /* 0: a file */
} entry;

#define END { NULL, NULL, 0 }
#define MANIFEST                                                                                             \
  { "package/package.json", "{\"name\": \"thing\", \"bin\": {\"thing-run\": \"./bin/run.js\"}}", 0 }

static const char *path_of(const char *name) {
  static char paths[4][512];
  static unsigned next;
  char *path = paths[next++ % 4];
  (void)snprintf(path, sizeof paths[0], "%s/%s", test_dir(), name);
  return path;
}

static void put_header(gzFile out, const char *name, unsigned size, char type) {
  char block[512] = { 0 };
  unsigned sum = 0;
  (void)snprintf(block, 100, "%s", name);
  (void)snprintf(block + 100, 8, "%07o", strstr(name, "bin/") != NULL ? 0755U : 0644U);
  (void)snprintf(block + 124, 12, "%011o", size);
  block[156] = type;
  memcpy(block + 257, "ustar\00000", 8);
  memset(block + 148, ' ', 8);
  for (size_t i = 0; i < sizeof block; i++) sum += (unsigned char)block[i];
  (void)snprintf(block + 148, 8, "%06o", sum & 0777777U);
  EXPECT_EQ(gzwrite(out, block, sizeof block), (int)sizeof block);
}

static void put_entry(gzFile out, const char *name, const char *text, char type) {
  static const char zeros[512];
  size_t len = strlen(text);
  put_header(out, name, (unsigned)len, type);
  EXPECT_EQ(gzwrite(out, text, (unsigned)len), (int)len);
  EXPECT_EQ(gzwrite(out, zeros, (unsigned)((512 - len % 512) % 512)), (int)((512 - len % 512) % 512));
}

static const char *an_archive(const char *name, const entry *entries) {
  const char *path = path_of(name);
  gzFile out = gzopen(path, "wb");
  EXPECT(out != NULL);
  for (; entries->name != NULL; entries++)
    put_entry(out, entries->name, entries->text, entries->type != 0 ? entries->type : '0');
  static const char zeros[1024];
  EXPECT_EQ(gzwrite(out, zeros, sizeof zeros), (int)sizeof zeros);
  EXPECT_EQ(gzclose(out), Z_OK);
  return path;
}

static void a_file(const char *name, const char *text) {
  FILE *f = fopen(path_of(name), "w");
  EXPECT(f != NULL);
  (void)fputs(text, f);
  EXPECT_EQ(fclose(f), 0);
}

static void a_folder(const char *name) { EXPECT_EQ(mkdir(path_of(name), 0755), 0); }

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
  EXPECT_EQ(cay_file_stat(box, PACKAGE_NODE_PLACE, &st, NULL), CAY_NOT_FOUND);
  cay_sandbox_free(box);
}

#define CODE { "package/index.js", "module.exports = 42\n", 0 }
#define RUN                                                                                                  \
  { "package/bin/run.js", "console.log('ran', require.main === module, process.argv.slice(2).join())\n", 0 }

TEST(an_archive_of_npm_is_found_from_every_folder) {
  const char *path = an_archive("thing-1.0.0.tgz", (entry[]){ MANIFEST, CODE, RUN, END });
  cay_packages *packages = NULL;
  cay_error err = { 0 };
  if (cay_packages_open(box_engine(), (const char *[]){ path, NULL }, &packages, &err) != CAY_OK)
    EXPECT_TEXT(err.message, "packages");
  cay_sandbox *box = NULL;
  EXPECT_EQ(cay_sandbox_new(box_engine(), &CAY_INIT(cay_sandbox_options, .packages = packages), &box, &err),
            CAY_OK);
  cay_packages_free(packages);
  expect_out(box, "cd /tmp; node -p 'require(\"thing\")'", "42\n");
  expect_out(box, "node --input-type=module -e 'import x from \"thing\"; console.log(x)'", "42\n");
  expect_out(box, "thing-run a 'b c'; stat -c %a /node_modules/thing/bin/run.js", "ran true a,b c\n755\n");
  cay_sandbox_free(box);
}

TEST(a_folder_with_a_package_json_goes_in_under_its_name) {
  a_folder("checkout");
  a_folder("checkout/.git");
  a_folder("checkout/node_modules");
  a_folder("checkout/node_modules/inner");
  a_file("checkout/.git/config", "x");
  a_file("checkout/package.json", "{\"name\": \"@me/thing\", \"bin\": \"cli.js\"}");
  a_file("checkout/index.js", "module.exports = require('inner')\n");
  a_file("checkout/cli.js", "console.log('cli')\n");
  a_file("checkout/node_modules/inner/package.json", "{\"name\": \"inner\", \"bin\": \"no.js\"}");
  a_file("checkout/node_modules/inner/index.js", "module.exports = 'inner'\n");
  cay_sandbox *box = box_new();
  cay_error err = { 0 };
  if (cay_sandbox_install(box, path_of("checkout/"), &err) != CAY_OK) EXPECT_TEXT(err.message, "installed");
  expect_out(
      box, "node -p 'require(\"@me/thing\")'; thing; ls -A /node_modules/@me/thing /usr/local/bin",
      "inner\ncli\n/node_modules/@me/thing:\ncli.js\nindex.js\nnode_modules\npackage.json\n\n/usr/local/bin:\nthing\n");
  cay_sandbox_free(box);
}

TEST(a_folder_node_modules_brings_all_of_its_packages) {
  a_folder("project");
  a_folder("project/node_modules");
  a_folder("project/node_modules/.bin");
  a_folder("project/node_modules/one");
  a_folder("project/node_modules/@s");
  a_folder("project/node_modules/@s/two");
  a_file("project/node_modules/.bin/one", "x");
  a_file("project/node_modules/one/package.json", "{\"name\": \"one\", \"bin\": {\"one\": \"index.js\"}}");
  a_file("project/node_modules/one/index.js", "console.log(require('@s/two'))\n");
  a_file("project/node_modules/@s/two/index.js", "module.exports = 2\n");
  cay_sandbox *box = box_new();
  cay_error err = { 0 };
  if (cay_sandbox_install(box, path_of("project/node_modules"), &err) != CAY_OK)
    EXPECT_TEXT(err.message, "installed");
  expect_out(box, "one; ls -A /node_modules", "2\n@s\none\n");
  cay_sandbox_free(box);
}

TEST(native_code_of_javascript_is_refused_by_name) {
  expect_refused(an_archive("a.tgz", (entry[]){ MANIFEST, { "package/build/fast.node", "x", 0 }, END }),
                 CAY_UNSUPPORTED,
                 "a.tgz has machine code (build/fast.node): only packages of pure JavaScript");
  expect_refused(an_archive("b.tgz", (entry[]){ MANIFEST, { "package/binding.gyp", "{}", 0 }, END }),
                 CAY_UNSUPPORTED, "binding.gyp");
  expect_refused(an_archive("c.tgz", (entry[]){ MANIFEST, { "package/bin/tool", "\177ELF\2\1", 0 }, END }),
                 CAY_UNSUPPORTED, "bin/tool");
  expect_refused(
      an_archive("d.tgz",
                 (entry[]){ { "package/package.json", "{\"name\":\"d\",\"gypfile\":true}", 0 }, END }),
      CAY_UNSUPPORTED, "node-gyp");
}

TEST(archives_that_lie_are_refused) {
  expect_refused(an_archive("none.tgz", (entry[]){ CODE, END }), CAY_CORRUPT, "it has no package.json");
  expect_refused(an_archive("bad.tgz", (entry[]){ { "package/package.json", "{", 0 }, END }), CAY_CORRUPT,
                 "no JSON");
  expect_refused(an_archive("up.tgz", (entry[]){ { "package/package.json", "{\"name\":\"../x\"}", 0 }, END }),
                 CAY_CORRUPT, "no name that npm allows");
  expect_refused(an_archive("dot.tgz", (entry[]){ MANIFEST, { "package/../../etc/x", "x", 0 }, END }),
                 CAY_CORRUPT, "..");
  expect_refused(an_archive("two.tgz", (entry[]){ MANIFEST, { "package//etc/x", "x", 0 }, END }), CAY_INVALID,
                 "leads out of the package");
  expect_refused(an_archive("bin.tgz", (entry[]){ { "package/package.json",
                                                    "{\"name\":\"b\",\"bin\":{\"b\":\"../../x\"}}", 0 },
                                                  END }),
                 CAY_CORRUPT, "a command that cannot be");
  a_file("text.tgz", "no archive");
  expect_refused(path_of("text.tgz"), CAY_CORRUPT, "");
}

TEST(long_names_come_by_pax_or_gnu) {
  char record[400], name[300], gnu[300];
  memset(name, 'n', sizeof name);
  (void)snprintf(name + 250, sizeof name - 250, "/x.js");
  memcpy(name, "package/", 8);
  (void)snprintf(record, sizeof record, "%zu path=%s\n", strlen(name) + 10, name);
  memcpy(gnu, name, sizeof gnu);
  gnu[8] = 'g';
  const char *path = an_archive("long.tgz", (entry[]){ { "package/package.json", "{\"name\": \"long\"}", 0 },
                                                       { "PaxHeader", record, 'x' },
                                                       { "package/cut", "module.exports = 'pax'", 0 },
                                                       { "././@LongLink", gnu, 'L' },
                                                       { "package/cut", "module.exports = 'gnu'", 0 },
                                                       END });
  cay_sandbox *box = box_new();
  cay_error err = { 0 };
  if (cay_sandbox_install(box, path, &err) != CAY_OK) EXPECT_TEXT(err.message, "installed");
  expect_out(box, "cd /node_modules/long; ls | cut -c1-2; cat g*/x.js n*/x.js",
             "gn\nnn\npa\nmodule.exports = 'gnu'module.exports = 'pax'");
  cay_sandbox_free(box);
}
