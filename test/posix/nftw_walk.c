/* nftw_walk - nftw(3), fts: a tree walked before and after its directories, symlinks as symlinks. */
#include "posix.h"

#include <ftw.h>

static char seen[32][64];
static int count;

static int visit(const char *path, const struct stat *st, int type, struct FTW *info) {
  (void)st;
  static const char *const kinds[] = { [FTW_F] = "file",  [FTW_D] = "dir",        [FTW_DNR] = "unreadable",
                                       [FTW_SL] = "link", [FTW_DP] = "dir after", [FTW_SLN] = "dangling" };
  snprintf(seen[count++], sizeof seen[0], "%.30s %s level %d base %d", path, kinds[type], info->level,
           info->base);
  return 0;
}

static int compare(const void *a, const void *b) { return strcmp(a, b); }

static void walk(int flags) {
  count = 0;
  SAY(nftw("t", visit, 8, flags));
  qsort(seen, (size_t)count, sizeof seen[0], compare);
  for (int i = 0; i < count; i++) say("  %s\n", seen[i]);
}

static int stop_at_file(const char *path, const struct stat *st, int type, struct FTW *info) {
  (void)path, (void)st, (void)info;
  return type == FTW_F ? 77 : 0;
}

int main(void) {
  MUST(mkdir("t", 0755));
  MUST(mkdir("t/a", 0755));
  MUST(mkdir("t/a/b", 0755));
  put("t/f", "");
  put("t/a/b/g", "");
  MUST(symlink("a", "t/link"));
  MUST(symlink("none", "t/dangling"));
  walk(FTW_PHYS);
  walk(FTW_PHYS | FTW_DEPTH);
  SAY(nftw("t", stop_at_file, 8, FTW_PHYS));
  SAY(nftw("none", visit, 8, 0));
  return 0;
}
