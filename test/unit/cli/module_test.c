/* module_test.c - which words name a WebAssembly file of this machine. */
#include "cli/module.h"
#include "test.h"

#include <stdlib.h>
#include <unistd.h>

static const char *file(const char *name, const char *bytes, size_t len) {
  static char path[256];
  (void)snprintf(path, sizeof path, "%s/%s", test_dir(), name);
  FILE *f = fopen(path, "w");
  EXPECT(f != NULL);
  EXPECT_EQ(fwrite(bytes, 1, len, f), len);
  EXPECT_EQ(fclose(f), 0);
  return path;
}

TEST(a_file_is_known_by_its_first_bytes) {
  EXPECT(module_is_file(file("good", "\0asm\1\0\0\0", 8)));
  EXPECT(!module_is_file(file("text.wasm", "#!/bin/sh\n", 10)));
  EXPECT(!module_is_file(file("short.wasm", "\0as", 3)));
  EXPECT(!module_is_file("/nowhere/at/all.wasm"));
  EXPECT(!module_is_file(test_dir()));
}

TEST(a_plain_word_is_never_looked_up) {
  EXPECT_EQ(chdir(test_dir()), 0);
  (void)file("ls", "\0asm\1\0\0\0", 8);
  EXPECT(!module_is_file("ls"));
  EXPECT(module_is_file("./ls"));
  (void)file("tool.wasm", "\0asm\1\0\0\0", 8);
  EXPECT(module_is_file("tool.wasm"));
  EXPECT_EQ(chdir("/"), 0);
}

TEST(a_module_is_loaded_whole) {
  cay_slice bytes = { 0 };
  EXPECT(module_load(file("whole", "\0asm\1\0\0\0rest", 12), &bytes));
  EXPECT_EQ(bytes.len, 12);
  EXPECT_EQ(memcmp(bytes.data, "\0asm\1\0\0\0rest", 12), 0);
  free((void *)bytes.data);
}
