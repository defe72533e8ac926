/* manifest_test.c - the list of guests, as src/sandbox/manifest.h reads it. */
#include "sandbox/manifest.h"
#include "test.h"

static cay_status parse(const char *text, sb_manifest *out, cay_error *err) {
  return sb_manifest_parse(mem_strdup(text), strlen(text), out, err);
}

TEST(each_kind_of_line_is_read) {
  sb_manifest m;
  EXPECT_EQ(parse("# guests\nfile /bin/bash bash.wasm epoch\n\nlink /bin/sh /bin/dash # the shell\n"
                  "tree\t/usr/share/zoneinfo  zoneinfo.tar\nfile /bin/busybox busybox.wasm protect",
                  &m, NULL),
            CAY_OK);
  EXPECT_EQ(m.count, 4);
  EXPECT_EQ(m.entries[0].kind, SB_FILE);
  EXPECT(m.entries[0].epoch);
  EXPECT_EQ(m.entries[1].kind, SB_LINK);
  EXPECT_TEXT(m.entries[1].source, "/bin/dash");
  EXPECT_EQ(m.entries[2].kind, SB_TREE);
  EXPECT_TEXT(m.entries[2].path, "/usr/share/zoneinfo");
  EXPECT(!m.entries[3].epoch);
  sb_manifest_free(&m);
}

TEST(a_line_that_is_not_understood_is_named_by_its_number) {
  static const char *const bad[] = {
    "\nfile /bin/x",
    "\nfile bin/x x.wasm epoch",
    "\nfile /bin/x x.wasm later",
    "\nfile /bin/x /etc/passwd epoch",
    "\nfile /bin/x ../x protect",
    "\nwhat /a b",
    "\nlink /a b c",
    "\nfile /a b c d e f",
  };
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    sb_manifest m;
    cay_error err;
    EXPECT_EQ(parse(bad[i], &m, &err), CAY_CORRUPT);
    EXPECT(strncmp(err.message, "line 2:", 7) == 0);
  }
}

TEST(a_nul_byte_is_refused) {
  sb_manifest m;
  EXPECT_EQ(sb_manifest_parse(mem_zalloc(5), 4, &m, NULL), CAY_CORRUPT);
}

TEST(an_empty_manifest_has_no_entries) {
  sb_manifest m;
  EXPECT_EQ(parse("", &m, NULL), CAY_OK);
  EXPECT_EQ(m.count, 0);
  sb_manifest_free(&m);
}

TEST(no_memory_leaks_nothing) {
  AT_EVERY_FAULT {
    char *text = mem_strdup("file /a a protect\nlink /b /a\n");
    if (text != NULL) {
      sb_manifest m;
      cay_status status = sb_manifest_parse(text, strlen(text), &m, NULL);
      EXPECT(status == CAY_OK || status == CAY_NO_MEMORY);
      if (status == CAY_OK) sb_manifest_free(&m);
    }
  }
}
