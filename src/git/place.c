/* place.c - where a file:// URL leads, and whether all of that repository is below the folder that may be cloned from. */
#include "base/alloc.h"
#include "base/error.h"
#include "git/git.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALTERNATES_MAX = 5, LINE_MAX_LEN = 4096 };

/* ---- the URL ---- */

static int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* The path of a URL, with its %XX as bytes. */
static bool url_path(const char *text, char out[static PATH_MAX]) {
  size_t len = 0;
  for (; *text != '\0'; text++) {
    int high = *text == '%' ? hex_digit(text[1]) : -1, low = high >= 0 ? hex_digit(text[2]) : -1;
    char c = low >= 0 ? (char)(high << 4 | low) : *text;
    if (c == '\0' || len + 1 >= PATH_MAX) return false;
    out[len++] = c;
    if (low >= 0) text += 2;
  }
  out[len] = '\0';
  return true;
}

/* `path` after all links is `root` or below it. */
static bool place_is_inside(const char *root, const char *path) {
  char real[PATH_MAX];
  size_t len = strlen(root);
  return realpath(path, real) != NULL && strncmp(real, root, len) == 0 &&
         (real[len] == '/' || real[len] == '\0' || len == 1);
}

static cay_status place_refuse(const orders *o, cay_error *err) {
  return err_set(err, CAY_DENIED, "%.150s is not below the folder that may be cloned from", o->url);
}

cay_status place_find(orders *o, cay_error *err) {
  char path[PATH_MAX], real[PATH_MAX];
  if (strncmp(o->url, "file://", 7) != 0) return CAY_OK;
  if (o->files == NULL)
    return err_set(err, CAY_DENIED,
                   "file:// URLs are not allowed (git_files names the folder that may be cloned from)");
  if (realpath(o->files, real) == NULL) return err_errno(err, errno, "the folder that may be cloned from");
  if ((o->root = mem_strdup(real)) == NULL) return err_no_memory(err);
  if (!url_path(o->url + 7, path) || realpath(path, real) == NULL)
    return err_set(err, CAY_NOT_FOUND, "there is no repository at %.150s", o->url);
  if (!place_is_inside(o->root, real)) return place_refuse(o, err);
  o->place = mem_strdup(real);
  return o->place != NULL ? CAY_OK : err_no_memory(err);
}

/* ---- the repository ---- */

static struct {
  const char *root;
  bool leaves;
} links; /* nftw(3) has no context */

static int link_check(const char *path, const struct stat *st, int type, struct FTW *at) {
  (void)st, (void)at;
  if (type == FTW_SL && !place_is_inside(links.root, path)) links.leaves = true;
  return links.leaves ? 1 : 0;
}

static bool folder_stays(const orders *o, const char *path) {
  if (!place_is_inside(o->root, path)) return false;
  links.root = o->root;
  links.leaves = false;
  (void)nftw(path, link_check, 32, FTW_PHYS);
  return !links.leaves;
}

/* The objects of a repository may be elsewhere, line by line, and so on from there. */
static bool alternates_stay(const orders *o, const char *objects, int left) {
  char name[PATH_MAX + 32], line[LINE_MAX_LEN], place[PATH_MAX + LINE_MAX_LEN + 2];
  (void)snprintf(name, sizeof name, "%s/info/alternates", objects);
  FILE *f = fopen(name, "re");
  bool stay = f != NULL || errno == ENOENT || errno == ENOTDIR;
  while (stay && f != NULL && fgets(line, sizeof line, f) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '\0' || line[0] == '#') continue;
    /* libgit2 takes other relative lines from the working directory, and ends lines at \r, too. */
    bool below = line[0] == '.' && left == ALTERNATES_MAX;
    (void)snprintf(place, sizeof place, "%s%s%s", below ? objects : "", below ? "/" : "", line);
    stay = left > 0 && (below || line[0] == '/') && strchr(line, '\r') == NULL && folder_stays(o, place) &&
           alternates_stay(o, place, left - 1);
  }
  if (f != NULL) (void)fclose(f);
  return stay;
}

cay_status place_check(const orders *o, git_repository *repo, cay_error *err) {
  char objects[PATH_MAX + 16];
  const char *common = git_repository_commondir(repo);
  if (snprintf(objects, sizeof objects, "%sobjects", common) >= (int)sizeof objects)
    return place_refuse(o, err);
  if (folder_stays(o, git_repository_path(repo)) && folder_stays(o, common) &&
      alternates_stay(o, objects, ALTERNATES_MAX))
    return CAY_OK;
  return err_set(err, CAY_DENIED, "%.150s leads out of the folder that may be cloned from", o->url);
}
