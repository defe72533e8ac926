/* errno_test.c - the list of errors, and what the host's mean to a guest. */
#include "kernel/core/errno.h"
#include "test.h"

#include <errno.h>

TEST(every_error_has_a_name_and_a_text) {
  EXPECT_TEXT(k_errno_name(K_ENOENT), "ENOENT");
  EXPECT_TEXT(k_errno_text(K_ENOENT), "no such file or directory");
  EXPECT_TEXT(k_errno_name(9999), "E?");
  EXPECT(k_errno_text(9999)[0] != '\0');
}

TEST(numbers_are_those_of_linux) {
  EXPECT_EQ(K_EPERM, EPERM);
  EXPECT_EQ(K_ENAMETOOLONG, ENAMETOOLONG);
  EXPECT_EQ(K_ELOOP, ELOOP);
  EXPECT_EQ(K_ESTALE, ESTALE);
}

TEST(errors_of_the_host_pass_and_unknown_ones_are_input_and_output) {
  EXPECT_EQ(k_errno_from_host(EACCES), K_EACCES);
  EXPECT_EQ(k_errno_from_host(EUCLEAN), K_EIO);
  EXPECT_EQ(k_errno_from_host(0), K_EIO);
}

TEST(each_error_has_a_status) {
  EXPECT_EQ(k_errno_status(K_ENOENT), CAY_NOT_FOUND);
  EXPECT_EQ(k_errno_status(K_ENOSPC), CAY_LIMIT);
  EXPECT_EQ(k_errno_status(9999), CAY_IO);
  EXPECT_EQ(k_errno_status(K_EKILLED), CAY_CANCELLED);
}
