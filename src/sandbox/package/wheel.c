/* wheel.c - packages that are wheels: zip archives by PEP 427 (packaging.python.org, binary distribution
 * format). */
#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "sandbox/package/package.h"

#include <stdio.h>
#include <string.h>
#include <unzip.h>

enum { NAME_MAX_LEN = 1024, ENTRY_POINTS_MAX = 1 << 20 };

static cay_status damaged(const sb_package *p, cay_error *err, const char *why) {
  return err_set(err, CAY_CORRUPT, "%.120s is no wheel: %s", p->name, why);
}

/* NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM.whl: for any platform, and for a Python 3 that this one is. */
static cay_status check_tags(const sb_package *p, cay_error *err) {
  char name[256];
  size_t len = strlen(p->name) - strlen(".whl");
  if (len >= sizeof name) return err_set(err, CAY_INVALID, "the name of the wheel is too long");
  memcpy(name, p->name, len);
  name[len] = '\0';
  char *platform = strrchr(name, '-');
  if (platform == NULL) return CAY_OK; /* renamed: its files will say */
  *platform++ = '\0';
  char *abi = strrchr(name, '-');
  if (abi == NULL) return CAY_OK;
  *abi++ = '\0';
  char *python = strrchr(name, '-');
  if (python == NULL) return CAY_OK;
  python++;
  if (strcmp(abi, "none") != 0 || strcmp(platform, "any") != 0)
    return err_set(err, CAY_UNSUPPORTED,
                   "%.120s is built for %.40s: only wheels of pure Python (none-any) can be installed",
                   p->name, platform);
  char *at = NULL;
  for (char *tag = strtok_r(python, ".", &at); tag != NULL; tag = strtok_r(NULL, ".", &at)) {
    bool known = strncmp(tag, "py3", 3) == 0 || strncmp(tag, "cp3", 3) == 0;
    long minor = known && tag[3] != '\0' ? strtol(tag + 3, NULL, 10) : 0;
    if (known && minor <= 13) return CAY_OK;
  }
  return err_set(err, CAY_UNSUPPORTED, "%.120s is for another Python than 3.13", p->name);
}

/* ---- where a file goes ---- */

/* "" for files left out: the headers and data of its .data folder. */
static void wheel_place(char *out, size_t size, const char *name, uint32_t *mode) {
  const char *first = strchr(name, '/'), *inside;
  *mode = 0644;
  if (first != NULL && first - name > 5 && strncmp(first - 5, ".data", 5) == 0 &&
      (inside = strchr(first + 1, '/')) != NULL) {
    size_t kind = (size_t)(inside - first - 1);
    bool lib = kind == 7 && (strncmp(first + 1, "purelib", 7) == 0 || strncmp(first + 1, "platlib", 7) == 0);
    if (lib) {
      (void)snprintf(out, size, PACKAGE_PLACE "%s", inside);
    } else if (kind == 7 && strncmp(first + 1, "scripts", 7) == 0) {
      *mode = 0755;
      (void)snprintf(out, size, PACKAGE_SCRIPTS "%s", inside);
    } else {
      out[0] = '\0';
    }
    return;
  }
  (void)snprintf(out, size, PACKAGE_PLACE "/%s", name);
}

/* ---- commands: entry_points.txt, [console_scripts] ---- */

static char *trimmed(char *text) {
  text += strspn(text, " \t\r");
  size_t len = strlen(text);
  while (len > 0 && strchr(" \t\r", text[len - 1]) != NULL) text[--len] = '\0';
  return text;
}

/* NAME = MODULE:FUNCTION [EXTRA] */
static cay_status add_command(sb_package *p, char *line, cay_error *err) {
  char *equals = strchr(line, '='), *colon = equals != NULL ? strchr(equals, ':') : NULL;
  if (colon == NULL) return CAY_OK;
  *equals = *colon = '\0';
  char *name = trimmed(line), *module = trimmed(equals + 1), *function = trimmed(colon + 1);
  function[strcspn(function, " \t[")] = '\0';
  if (!sb_package_is_made_of(name, "._-+") || name[0] == '.' || !sb_package_is_made_of(module, "._") ||
      !sb_package_is_made_of(function, "._"))
    return err_set(err, CAY_CORRUPT, "%.80s: a command that cannot be: %s", p->name, TEXT_NAME(name));
  char to[512], text[1024];
  (void)snprintf(to, sizeof to, PACKAGE_SCRIPTS "/%.200s", name);
  int first = (int)strcspn(function, ".");
  int len = snprintf(text, sizeof text,
                     "#!/usr/bin/env python3\nimport sys\nfrom %.300s import %.*s\nsys.exit(%.300s())\n",
                     module, first, function, function);
  if (len < 0 || (size_t)len >= sizeof text) return damaged(p, err, "a command's name is too long");
  return sb_package_add(p, name, to, (cay_slice){ text, (size_t)len }, 0755, err);
}

static cay_status add_commands(sb_package *p, const buf *file, cay_error *err) {
  if (file->len > ENTRY_POINTS_MAX) return damaged(p, err, "its entry points are too long");
  char *text = mem_alloc(file->len + 1), *at = NULL;
  if (text == NULL) return err_no_memory(err);
  memcpy(text, buf_text(file), file->len);
  text[file->len] = '\0';
  cay_status status = CAY_OK;
  bool here = false;
  for (char *line = strtok_r(text, "\n", &at); status == CAY_OK && line != NULL;
       line = strtok_r(NULL, "\n", &at)) {
    line = trimmed(line);
    if (line[0] == '[')
      here = strcmp(line, "[console_scripts]") == 0;
    else if (here && line[0] != '#' && line[0] != ';')
      status = add_command(p, line, err);
  }
  mem_free(text);
  return status;
}

/* The slash behind NAME-VERSION.dist-info; NULL: it is not in there. */
static const char *in_dist_info(const char *name) {
  const char *slash = strchr(name, '/');
  return slash != NULL && slash - name > 10 && strncmp(slash - 10, ".dist-info", 10) == 0 ? slash : NULL;
}

static bool has_commands(const char *name) {
  const char *slash = in_dist_info(name);
  return slash != NULL && strcmp(slash, "/entry_points.txt") == 0;
}

/* ---- the archive ---- */

/* All of the file at the reader, however long it says it is. minizip checks the sum of it when it is closed. */
static cay_status wheel_read_file(const sb_package *p, unzFile zip, const char *name, buf *out,
                                  cay_error *err) {
  char chunk[1 << 14];
  int got;
  if (unzOpenCurrentFile(zip) != UNZ_OK) return damaged(p, err, "a file cannot be unpacked");
  while ((got = unzReadCurrentFile(zip, chunk, sizeof chunk)) > 0) {
    cay_status status = buf_append(out, chunk, (size_t)got);
    if (status == CAY_OK) continue;
    (void)unzCloseCurrentFile(zip);
    if (status == CAY_NO_MEMORY) return err_no_memory(err);
    return err_set(err, CAY_LIMIT, "%.80s: %s is larger than %d bytes", p->name, TEXT_NAME(name),
                   PACKAGE_FILE_MAX);
  }
  if (unzCloseCurrentFile(zip) != UNZ_OK || got < 0) return damaged(p, err, "a file is damaged");
  return CAY_OK;
}

static cay_status wheel_add_file(sb_package *p, unzFile zip, bool *has_metadata, cay_error *err) {
  char name[NAME_MAX_LEN + 1] = "", to[NAME_MAX_LEN + 64];
  uint32_t mode;
  unz_file_info64 info;
  if (unzGetCurrentFileInfo64(zip, &info, name, sizeof name - 1, NULL, 0, NULL, 0) != UNZ_OK ||
      info.size_filename > NAME_MAX_LEN || strlen(name) != info.size_filename)
    return damaged(p, err, "a name in it cannot be read");
  if ((info.flag & 1) != 0) return damaged(p, err, "a file is encrypted");
  size_t len = strlen(name);
  if (len > 0 && name[len - 1] == '/') return CAY_OK;
  if (sb_package_leads_out(name))
    return err_set(err, CAY_INVALID, "%.80s: %s leads out of the package", p->name, TEXT_NAME(name));
  S_TRY(sb_package_check_name(p, name, err));
  wheel_place(to, sizeof to, name, &mode);
  if (to[0] == '\0') return CAY_OK;
  buf bytes = BUF_INIT(PACKAGE_FILE_MAX);
  cay_status status = wheel_read_file(p, zip, name, &bytes, err);
  if (status == CAY_OK) status = sb_package_add(p, name, to, (cay_slice){ bytes.data, bytes.len }, mode, err);
  if (status == CAY_OK && has_commands(name)) status = add_commands(p, &bytes, err);
  buf_free(&bytes);
  if (in_dist_info(name) != NULL) *has_metadata = true;
  return status;
}

static cay_status read_archive(sb_package *p, unzFile zip, cay_error *err) {
  bool has_metadata = false;
  int step = unzGoToFirstFile(zip);
  for (; step == UNZ_OK; step = unzGoToNextFile(zip)) S_TRY(wheel_add_file(p, zip, &has_metadata, err));
  if (step != UNZ_END_OF_LIST_OF_FILE) return damaged(p, err, "its list of files is damaged");
  return has_metadata ? CAY_OK : damaged(p, err, "it has no .dist-info");
}

cay_status sb_wheel_read(sb_package *p, cay_error *err) {
  S_TRY(check_tags(p, err));
  unzFile zip = unzOpen64(p->path);
  if (zip == NULL) return damaged(p, err, "not a zip archive");
  cay_status status = read_archive(p, zip, err);
  (void)unzClose(zip);
  return status;
}
