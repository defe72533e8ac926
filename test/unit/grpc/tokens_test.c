#include "grpc/wire/server.h"

#include "test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static cay_status load(const char *content, mode_t mode, tokens **out, cay_error *err) {
  char path[300];
  (void)snprintf(path, sizeof path, "%s/tokens", test_dir());
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  EXPECT_EQ(write(fd, content, strlen(content)), strlen(content));
  EXPECT_EQ(fchmod(fd, mode), 0);
  (void)close(fd);
  return tokens_load(path, out, err);
}

static const char *find(const tokens *t, const char *value) {
  const char *name = tokens_find(t, (cay_slice){ value, strlen(value) });
  return name != NULL ? name : "nobody";
}

TEST(tokens_have_the_name_of_their_line) {
  tokens *t = NULL;
  cay_error err;
  EXPECT_EQ(load("# c\n\nalice:0123456789abcdef\n  fedcba9876543210  \r\n", 0600, &t, &err), CAY_OK);
  EXPECT_TEXT(find(t, "Bearer 0123456789abcdef"), "alice");
  EXPECT_TEXT(find(t, "bearer fedcba9876543210"), "4");
  EXPECT_TEXT(find(t, "Bearer 0123456789abcde"), "nobody");
  EXPECT_TEXT(find(t, "Bearer "), "nobody");
  EXPECT_TEXT(find(t, "0123456789abcdef"), "nobody");
  tokens_free(t);
}

TEST(a_file_for_others_or_without_a_good_token_is_refused) {
  tokens *t = NULL;
  cay_error err;
  EXPECT_EQ(load("0123456789abcdef\n", 0640, &t, &err), CAY_DENIED);
  EXPECT_EQ(load("# nothing\n", 0600, &t, &err), CAY_INVALID);
  EXPECT_EQ(load("a:short\n", 0600, &t, &err), CAY_INVALID);
  EXPECT_EQ(tokens_load("/nowhere/at/all", &t, &err), CAY_IO);
  EXPECT(t == NULL);
}
