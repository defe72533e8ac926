/* git_test.c - records of cay-git that want to leave the folder of the repository. */
#include "ws.h"

#include <sys/mman.h>
#include <unistd.h>

typedef struct record {
  char kind;
  const char *path;
  size_t path_len;
  const char *data;
} record;

#define RECORD(kind, path, data) ((record){ (kind), (path), sizeof(path) - 1, (data) })

static void record_write(int fd, const record *r) {
  size_t len = strlen(r->data);
  uint8_t head[15] = { (uint8_t)r->kind };
  head[1] = 0xa4, head[2] = 1; /* 0644 */
  head[5] = (uint8_t)len;
  head[13] = (uint8_t)r->path_len;
  EXPECT_EQ(write(fd, head, sizeof head), (ssize_t)sizeof head);
  EXPECT_EQ(write(fd, r->path, r->path_len), (ssize_t)r->path_len);
  EXPECT_EQ(write(fd, r->data, len), (ssize_t)len);
}

static cay_status records_take(ws_started *w, const record *records, size_t count) {
  cay_error err = { .status = CAY_OK };
  int fd = memfd_create("records", MFD_CLOEXEC);
  for (size_t i = 0; i < count; i++) record_write(fd, &records[i]);
  record_write(fd, &RECORD('e', "", ""));
  EXPECT_EQ(lseek(fd, 0, SEEK_SET), 0);
  cay_status status = ws_git_records(w->ws, w->s, fd, &err);
  EXPECT_EQ(close(fd), 0);
  return status;
}

TEST(a_repository_writes_through_none_of_its_links) {
  static const record cases[][3] = {
    { RECORD('l', "up", ".."), RECORD('f', "up/out", "x"), RECORD('f', "in", "x") },
    { RECORD('l', "up", "../out"), RECORD('f', "up", "x"), RECORD('f', "in", "x") },
    { RECORD('l', "up", ".."), RECORD('d', "up/out", ""), RECORD('f', "in", "x") },
    { RECORD('l', "up", ".."), RECORD('l', "up/out", "x"), RECORD('f', "in", "x") },
    { RECORD('d', "a", ""), RECORD('l', "a/up", "../.."), RECORD('f', "a/up/out", "x") },
    { RECORD('f', "a\0b", "x"), RECORD('f', "in", "x"), RECORD('f', "in", "x") },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    ws_started w;
    ws_begin(&w, &CAY_INIT(cay_ws_manifest));
    EXPECT_EQ(records_take(&w, cases[i], 3), CAY_CORRUPT);
    EXPECT_TEXT(ws_sh(w.s, "ls; ls -d ../out 2>/dev/null; true"), i == 5 ? "" : "r\n");
    ws_end(&w);
  }
}

TEST(links_beside_the_files_of_a_repository_are_made) {
  static const record records[] = { RECORD('d', "dir", ""), RECORD('f', "dir/file", "text"),
                                    RECORD('l', "dir/link", "file"), RECORD('l', "dangling", "nowhere"),
                                    RECORD('f', "file", "x") };
  ws_started w;
  ws_begin(&w, &CAY_INIT(cay_ws_manifest));
  EXPECT_EQ(records_take(&w, records, sizeof records / sizeof *records), CAY_OK);
  EXPECT_TEXT(ws_sh(w.s, "cat r/dir/link; readlink r/dangling; cat r/file"), "textnowhere\nx");
  ws_end(&w);
}
