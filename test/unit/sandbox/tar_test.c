/* tar_test.c - archives in the ustar format (pax(1)), as src/sandbox/tar.h reads them. */
#include "sandbox/tar.h"
#include "test.h"

/* One header and its contents at `at`; the place after it. */
static size_t put(uint8_t *archive, size_t at, const char *name, char type, const char *data,
                  const char *target) {
  uint8_t *h = archive + at;
  size_t len = strlen(data);
  memset(h, 0, 512);
  snprintf((char *)h, 100, "%s", name);
  snprintf((char *)h + 100, 8, "%07o", 0644U);
  snprintf((char *)h + 124, 12, "%011o", (unsigned)len);
  h[156] = (uint8_t)type;
  snprintf((char *)h + 157, 100, "%s", target);
  memcpy(h + 257, "ustar", 6);
  unsigned sum = 8 * ' ';
  for (size_t i = 0; i < 512; i++) sum += i >= 148 && i < 156 ? 0 : h[i];
  snprintf((char *)h + 148, 8, "%06o", sum);
  memcpy(h + 512, data, len);
  return at + 512 + (len + 511) / 512 * 512;
}

TEST(files_directories_and_links_are_read_in_order) {
  static uint8_t a[8192];
  size_t end = put(a, 0, "./", '5', "", "");
  end = put(a, end, "./Europe/", '5', "", "");
  end = put(a, end, "./Europe/Oslo", '0', "zone", "");
  end = put(a, end, "Norway", '2', "", "Europe/Oslo");
  cay_slice archive = { a, sizeof a };
  sb_tar_entry e;
  size_t at = 0;
  EXPECT_EQ(sb_tar_next(archive, &at, &e, NULL), CAY_OK);
  EXPECT_TEXT(e.name, "Europe");
  EXPECT_EQ(e.type, '5');
  EXPECT_EQ(sb_tar_next(archive, &at, &e, NULL), CAY_OK);
  EXPECT_TEXT(e.name, "Europe/Oslo");
  EXPECT_EQ(e.data.len, 4);
  EXPECT_EQ(memcmp(e.data.data, "zone", 4), 0);
  EXPECT_EQ(e.mode, 0644);
  EXPECT_EQ(sb_tar_next(archive, &at, &e, NULL), CAY_OK);
  EXPECT_TEXT(e.target, "Europe/Oslo");
  EXPECT_EQ(sb_tar_next(archive, &at, &e, NULL), CAY_NOT_FOUND);
}

TEST(a_name_may_stand_in_two_parts) {
  static uint8_t a[2048];
  put(a, 0, "b", '0', "", "");
  memcpy(a + 345, "long/prefix", 11);
  unsigned sum = 8 * ' ';
  for (size_t i = 0; i < 512; i++) sum += i >= 148 && i < 156 ? 0 : a[i];
  snprintf((char *)a + 148, 8, "%06o", sum);
  sb_tar_entry e;
  size_t at = 0;
  EXPECT_EQ(sb_tar_next((cay_slice){ a, sizeof a }, &at, &e, NULL), CAY_OK);
  EXPECT_TEXT(e.name, "long/prefix/b");
}

TEST(an_archive_that_is_cut_short_is_corrupt_wherever_it_is_cut) {
  static uint8_t a[2048];
  size_t end = put(a, 0, "f", '0', "0123456789", "");
  for (size_t len = 0; len < end; len += 7) {
    sb_tar_entry e;
    size_t at = 0;
    cay_status status = sb_tar_next((cay_slice){ a, len }, &at, &e, NULL);
    if (len < 512 + 10) EXPECT_EQ(status, CAY_CORRUPT);
  }
}

TEST(a_changed_header_does_not_verify) {
  static uint8_t a[2048];
  put(a, 0, "f", '0', "", "");
  a[0] ^= 1;
  sb_tar_entry e;
  size_t at = 0;
  EXPECT_EQ(sb_tar_next((cay_slice){ a, sizeof a }, &at, &e, NULL), CAY_CORRUPT);
}

TEST(a_name_that_leads_up_is_refused) {
  static const char *const bad[] = { "..", "../a", "a/../b", "a/.." };
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    static uint8_t a[2048];
    put(a, 0, bad[i], '0', "", "");
    sb_tar_entry e;
    size_t at = 0;
    EXPECT_EQ(sb_tar_next((cay_slice){ a, sizeof a }, &at, &e, NULL), CAY_CORRUPT);
  }
}

TEST(a_hard_link_is_refused_and_not_lost) {
  static uint8_t a[2048];
  put(a, 0, "b", '1', "", "a");
  sb_tar_entry e;
  size_t at = 0;
  EXPECT_EQ(sb_tar_next((cay_slice){ a, sizeof a }, &at, &e, NULL), CAY_CORRUPT);
}
