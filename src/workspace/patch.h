/* patch.h - unified diffs, read and applied to bytes.
 *
 * Formats: diff -u (POSIX) and git's extended headers (git-diff(1), "generating patch text with -p"): creation, deletion,
 * rename, copy, modes, symbolic links, quoted names. Refused clearly: context and ed diffs, binary patches, submodules.
 * Text before, between and after the diffs of files is passed over, as patch(1) does.
 *
 * How hunks find their place follows patch(1): at the line they name, moved by what the hunk before was moved; then
 * further and further from it; then with up to `fuzz` lines of context less at both ends. A hunk without context at the
 * beginning (or end) whose other end has some belongs to the beginning (or end) of the file. */
#pragma once

#include "base/buf.h"
#include "base/defs.h"

#include <cay/status.h>

enum {
  WS_PATCH_MAX = 64 << 20, /* bytes */
  WS_PATCH_FILES_MAX = 16384,
  WS_PATCH_HUNKS_MAX = 1 << 20,
  WS_PATCH_LINE_MAX = 1 << 30, /* greatest number of a line */
};

/* One line of a hunk: its text with the line end, unless "\ No newline at end of file" follows. */
typedef struct ws_patch_line {
  char kind; /* ' ', '-', '+' */
  cay_slice text;
} ws_patch_line;

typedef struct ws_hunk {
  size_t at; /* line of the patch, from 1 */
  size_t old_start, old_count, new_start, new_count;
  size_t first, count; /* in ws_patch.lines */
} ws_hunk;

typedef enum ws_patch_kind {
  WS_PATCH_MODIFY,
  WS_PATCH_CREATE,
  WS_PATCH_DELETE,
  WS_PATCH_RENAME,
  WS_PATCH_COPY
} ws_patch_kind;

typedef struct ws_patch_file {
  ws_patch_kind kind;
  size_t at;                   /* line of the patch where its header begins */
  bool git;                    /* has a header of git */
  char *old_name, *new_name;   /* as written, unquoted; NULL: /dev/null or absent */
  uint32_t old_mode, new_mode; /* of git, with the file type; 0: not said */
  size_t first_hunk, hunk_count;
} ws_patch_file;

typedef struct ws_patch {
  ws_patch_file *files;
  size_t file_count, file_cap;
  ws_hunk *hunks;
  size_t hunk_count, hunk_cap;
  ws_patch_line *lines;
  size_t line_count, line_cap;
} ws_patch;

/* Lines borrow from `text`. CAY_INVALID: the message names the line of the patch. CAY_UNSUPPORTED: a kind of patch that
 * is refused. CAY_LIMIT. A patch without any diff is CAY_INVALID. */
cay_status ws_patch_read(cay_slice text, ws_patch *out, cay_error *err) CHECKED;
void ws_patch_free(ws_patch *patch);
static inline void ws_patch_free_p(ws_patch *patch) { ws_patch_free(patch); }

typedef struct ws_fuzz {
  bool strict; /* no offset, all of the context */
  size_t fuzz;
} ws_fuzz;

/* The hunks of a file on its bytes. CAY_INVALID: the message names the hunk and its line in the patch. CAY_LIMIT: the
 * search takes too long. `new` is then undefined. */
cay_status ws_patch_hunks(const ws_patch *patch, const ws_patch_file *file, cay_slice old, const ws_fuzz *how,
                          buf *new, cay_error *err) CHECKED;
