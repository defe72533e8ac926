/* test_files.h - uvu and its dependencies, as files below node_modules; made when cay is built. */
#pragma once

#include <cay/status.h>

typedef struct test_file {
  const char *path;
  cay_slice content;
} test_file;

extern const test_file test_files[];
extern const size_t test_file_count;
