/* status_test.c - the words of include/cay/status.h. */
#include "base/alloc.h"
#include "test.h"

#include <cay/cay.h>
#include <stdio.h>

TEST(every_status_has_a_name_of_its_own) {
  for (int a = CAY_OK; a <= CAY_INTERNAL; a++) {
    EXPECT(strcmp(cay_status_name((cay_status)a), "unknown") != 0);
    for (int b = a + 1; b <= CAY_INTERNAL; b++)
      EXPECT(strcmp(cay_status_name((cay_status)a), cay_status_name((cay_status)b)) != 0);
  }
  EXPECT_TEXT(cay_status_name(CAY_DENIED), "denied");
  EXPECT_TEXT(cay_status_name((cay_status)(CAY_INTERNAL + 1)), "unknown");
}

TEST(the_version_is_that_of_the_header) {
  char header[40];
  snprintf(header, sizeof header, "%d.%d.%d", CAY_VERSION_MAJOR, CAY_VERSION_MINOR, CAY_VERSION_PATCH);
  EXPECT_TEXT(cay_version(), header);
}

TEST(freeing_a_buffer_empties_it) {
  cay_buf b = { .data = mem_alloc(3), .len = 3 };
  cay_buf_free(&b);
  EXPECT(b.data == NULL && b.len == 0);
  cay_buf_free(&b);
  cay_buf_free(NULL);
}
