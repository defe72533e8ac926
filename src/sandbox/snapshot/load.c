/* load.c - a snapshot from a file (cay_snapshot_load). Everything read here may be an attack. */
#include "engine/image_delta.h"
#include "sandbox/guests.h"
#include "sandbox/session/language.h"
#include "sandbox/snapshot/sections.h"
#include "sandbox/snapshot/walk.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 1 << 16, FIRST = 512 };
#define SHM_PLACE "/tmp/shm"
#define LOAD_BYTES_MAX (UINT64_C(4) << 30)
#define CLOCK_MAX_NS (UINT64_C(1) << 61) /* of a sandbox: some 70 years */

typedef struct loading {
  cay_engine *engine;
  cay_snapshot_load_options o;
  sb_in in;
  cay_snapshot_maker *maker;
  cay_snapshot *s;   /* what the head and the sessions say; the tree is the maker's */
  uint8_t has_files; /* HEAD_FILES, HEAD_SHM */
  bool in_shm;       /* the records are those of /dev/shm */
  uint32_t sessions;
} loading;

static cay_status load_corrupt(cay_error *err, const char *why) {
  return err_set(err, CAY_CORRUPT, "the snapshot was damaged: %s", why);
}

/* ---- the head ---- */

static cay_status load_env(sb_in *in, sb_env *env, cay_error *err) {
  uint32_t count;
  S_TRY(sb_in_u32(in, &count, err));
  if (count > ENV_MAX) return load_corrupt(err, "it has too many variables");
  for (uint32_t i = 0; i < count; i++) {
    char *text = NULL;
    S_TRY(sb_in_text(in, TEXT_MAX, &text, err));
    cay_status status = sb_env_put(env, text, err);
    mem_free(text);
    if (status == CAY_INVALID) return load_corrupt(err, "a variable has no name");
    S_TRY(status);
  }
  return CAY_OK;
}

/* Files of earlier versions have nine of them. */
static cay_status load_limits(sb_in *in, cay_snapshot *s, cay_error *err) {
  enum { FEWEST = 9 };
  cay_limits *l = &s->limits;
  uint32_t count;
  uint64_t v[12] = { 0 };
  S_TRY(sb_in_u32(in, &count, err));
  if (count != FEWEST && count != COUNT_OF(v)) return load_corrupt(err, "it has another number of limits");
  for (size_t i = 0; i < count; i++) S_TRY(sb_in_u64(in, &v[i], err));
  if (v[10] > UINT32_MAX || v[11] > CLOCK_MAX_NS) return load_corrupt(err, "a limit is too large");
  if (v[4] > UINT32_MAX || v[5] > UINT32_MAX || v[6] > UINT32_MAX || v[7] > UINT32_MAX)
    return load_corrupt(err, "a limit is too large");
  *l = (cay_limits){ .memory = v[0], .disk = v[1], .output = v[2], .fuel = v[3], .code = v[8] };
  l->wall_ms = (uint32_t)v[4];
  l->processes = (uint32_t)v[5];
  l->files = (uint32_t)v[6];
  l->open_files = (uint32_t)v[7];
  l->cpu_ms = v[9];
  l->background_ms = (uint32_t)v[10];
  s->mono_ns = (int64_t)v[11];
  sb_limits_fill(l);
  return CAY_OK;
}

static cay_status load_label(loading *l, cay_error *err) {
  char *label = NULL;
  S_TRY(sb_in_text(&l->in, SNAPSHOT_LABEL_MAX, &label, err));
  cay_status status = sb_snapshot_set_label(l->s, label, err);
  mem_free(label);
  return status == CAY_INVALID ? load_corrupt(err, "its label is not UTF-8") : status;
}

static cay_status load_head(loading *l, cay_error *err) {
  cay_snapshot *s = l->s;
  sb_in *in = &l->in;
  uint64_t created;
  S_TRY(sb_in_begin(in, SECTION_HEAD, err));
  S_TRY(sb_in_get(in, s->id, sizeof s->id, err));
  S_TRY(sb_in_get(in, s->parent, sizeof s->parent, err));
  S_TRY(sb_in_u64(in, &created, err));
  s->created_ns = (int64_t)created;
  S_TRY(load_label(l, err));
  S_TRY(load_limits(in, s, err));
  S_TRY(load_env(in, &s->env, err));
  S_TRY(sb_in_u8(in, &l->has_files, err));
  S_TRY(sb_in_u32(in, &l->sessions, err));
  if (l->has_files != 0 && l->has_files != HEAD_FILES && l->has_files != (HEAD_FILES | HEAD_SHM))
    return load_corrupt(err, "its head makes no sense");
  if (l->sessions > SESSIONS_MAX) return load_corrupt(err, "it has too many sessions");
  return sb_in_end(in, err);
}

/* ---- files ---- */

static cay_status load_segments(loading *l, cay_error *err) {
  for (;;) {
    uint64_t len;
    S_TRY(sb_in_u64(&l->in, &len, err));
    if (len == 0) return CAY_OK;
    if (len & SEGMENT_HOLE) {
      S_TRY(cay_snapshot_maker_skip(l->maker, len & ~SEGMENT_HOLE, err));
      continue;
    }
    for (cay_slice some = { 0 }; len > 0; len -= some.len) {
      S_TRY(sb_in_some(&l->in, len < PIECE ? len : PIECE, &some, err));
      S_TRY(cay_snapshot_maker_write(l->maker, some, err));
    }
  }
}

static cay_status load_entry(loading *l, cay_entry *e, cay_error *err) {
  char *target = NULL;
  uint64_t mtime;
  S_TRY(sb_in_u32(&l->in, &e->mode, err));
  S_TRY(sb_in_u32(&l->in, &e->uid, err));
  S_TRY(sb_in_u32(&l->in, &e->gid, err));
  S_TRY(sb_in_u64(&l->in, &mtime, err));
  e->type = e->mode & K_S_IFMT;
  e->mtime_ns = (int64_t)mtime;
  if (e->type == K_S_IFLNK) S_TRY(sb_in_text(&l->in, K_PATH_MAX, &target, err));
  e->target = target;
  cay_status status = cay_snapshot_maker_put(l->maker, e, err);
  mem_free(target);
  S_TRY(status);
  return e->type == K_S_IFREG ? load_segments(l, err) : CAY_OK;
}

/* Those of /dev/shm are made below a directory that no snapshot keeps. */
static cay_status load_path(loading *l, char **out, cay_error *err) {
  char *text = NULL;
  S_TRY(sb_in_text(&l->in, TEXT_MAX, &text, err));
  if (!l->in_shm) {
    *out = text;
    return CAY_OK;
  }
  buf path = BUF_INIT(BUF_UNLIMITED);
  cay_status status = text[0] == '/' ? buf_appendf(&path, SHM_PLACE "%s", text[1] != '\0' ? text : "")
                                     : load_corrupt(err, "a file is where none can be");
  mem_free(text);
  if (status == CAY_OK && (*out = mem_strdup(buf_text(&path))) == NULL) status = err_no_memory(err);
  buf_free(&path);
  return status;
}

static cay_status load_link(loading *l, cay_entry *e, cay_error *err) {
  char *same_as = NULL;
  S_TRY(load_path(l, &same_as, err));
  e->same_as = same_as;
  cay_status status = cay_snapshot_maker_put(l->maker, e, err);
  mem_free(same_as);
  return status;
}

static cay_status load_record(loading *l, uint8_t kind, cay_error *err) {
  char *path = NULL;
  S_TRY(load_path(l, &path, err));
  cay_entry e = { .path = path, .removed = kind == RECORD_REMOVED };
  cay_status status = kind == RECORD_ENTRY  ? load_entry(l, &e, err)
                      : kind == RECORD_LINK ? load_link(l, &e, err)
                                            : cay_snapshot_maker_put(l->maker, &e, err);
  mem_free(path);
  return status;
}

static cay_status load_tree(loading *l, uint32_t section, cay_error *err) {
  uint8_t kind;
  S_TRY(sb_in_begin(&l->in, section, err));
  for (;;) {
    S_TRY(sb_in_u8(&l->in, &kind, err));
    if (kind == RECORD_END) break;
    if (kind > RECORD_LINK) return load_corrupt(err, "a file is of no known kind");
    cay_status status = load_record(l, kind, err);
    if (status == CAY_INVALID) return load_corrupt(err, "a file is where none can be");
    S_TRY(status);
  }
  return sb_in_end(&l->in, err);
}

/* The directory where they were made, as a tree of its own. */
static cay_status shm_take(loading *l, const cay_snapshot *files, cay_error *err) {
  const mem_node *root = NULL;
  S_TRY(sb_tree_find(files->tree->root, SHM_PLACE, &root, err));
  if (!sb_node_is(root, K_S_IFDIR)) return load_corrupt(err, "a file is where none can be");
  mem_tree *tree = mem_zalloc(sizeof *tree);
  if (tree == NULL) return err_no_memory(err);
  atomic_init(&tree->refs, 1);
  tree->root = mem_node_ref((mem_node *)(uintptr_t)root);
  tree->next_ino = files->tree->next_ino;
  l->s->shm = tree;
  return CAY_OK;
}

static cay_status load_shm(loading *l, cay_error *err) {
  cay_snapshot *files = NULL;
  cay_snapshot_maker *outer = MOVE(l->maker);
  cay_snapshot_maker_options m =
      CAY_INIT(cay_snapshot_maker_options, .bytes_max = l->o.bytes_max, .files_max = l->o.files_max);
  l->in_shm = true;
  cay_status status = cay_snapshot_maker_new(l->engine, &m, &l->maker, err);
  if (status == CAY_OK) status = load_tree(l, SECTION_SHM, err);
  if (status == CAY_OK) status = cay_snapshot_maker_finish(MOVE(l->maker), NULL, &files, err);
  if (status == CAY_OK) status = shm_take(l, files, err);
  cay_snapshot_free(files);
  cay_snapshot_maker_free(l->maker);
  l->maker = outer;
  l->in_shm = false;
  return status;
}

/* ---- sessions ---- */

static cay_status load_source(void *ctx, void *out, size_t len, cay_error *err) {
  return sb_in_get(ctx, out, len, err);
}

static cay_status load_language(loading *l, sb_session_copy *copy, cay_error *err) {
  char *name = NULL;
  S_TRY(sb_in_text(&l->in, 100, &name, err));
  copy->language = sb_language_find(name);
  cay_status status = CAY_OK;
  if (copy->language == NULL)
    status =
        err_set(err, CAY_UNSUPPORTED, "a session is of a language that is not here: %s", TEXT_NAME(name));
  mem_free(name);
  return status;
}

static cay_status load_memory(loading *l, sb_session_copy *copy, cay_error *err) {
  eng_image *boot = NULL;
  cay_status status = sb_language_boot(l->engine, copy->language, &boot, err);
  if (status == CAY_NOT_FOUND)
    return err_set(err, CAY_UNSUPPORTED, "%s is not among the guests", copy->language->program);
  S_TRY(status);
  S_TRY(sb_believed_read(&copy->process, load_source, &l->in, err));
  return eng_delta_read(boot, load_source, &l->in, l->o.bytes_max, &copy->memory, err);
}

static bool load_id_is_new(const cay_snapshot *s, uint32_t id) {
  for (size_t i = 0; i < s->session_count; i++)
    if (s->sessions[i].id == id) return false;
  return id != 0;
}

static cay_status load_name(loading *l, sb_session_copy *copy, cay_error *err) {
  char *name = NULL;
  S_TRY(sb_in_text(&l->in, SB_SESSION_NAME_MAX, &name, err));
  size_t len = strlen(name);
  bool valid = utf8_is_valid(name, len);
  memcpy(copy->name, name, len + 1);
  mem_free(name);
  return valid ? CAY_OK : load_corrupt(err, "the name of a session is not UTF-8");
}

static cay_status load_rlimits(loading *l, sb_session_copy *copy, cay_error *err) {
  uint32_t count;
  S_TRY(sb_in_u32(&l->in, &count, err));
  if (count != COUNT_OF(copy->rlimits)) return load_corrupt(err, "a session has another number of limits");
  for (uint32_t i = 0; i < count; i++) {
    S_TRY(sb_in_u64(&l->in, &copy->rlimits[i].soft, err));
    S_TRY(sb_in_u64(&l->in, &copy->rlimits[i].hard, err));
    if (copy->rlimits[i].soft > copy->rlimits[i].hard)
      return load_corrupt(err, "a limit of a session makes no sense");
  }
  copy->has_rlimits = true;
  return CAY_OK;
}

static cay_status load_session_fields(loading *l, sb_session_copy *copy, cay_error *err) {
  uint32_t flags;
  S_TRY(sb_in_u32(&l->in, &copy->id, err));
  S_TRY(sb_in_u32(&l->in, &flags, err));
  if (!load_id_is_new(l->s, copy->id) || (flags & ~(uint32_t)SESSION_FLAGS) != 0)
    return load_corrupt(err, "a session makes no sense");
  copy->no_undo = (flags & SESSION_NO_UNDO) != 0;
  copy->counts_fuel = (flags & SESSION_COUNTS_FUEL) != 0;
  copy->fresh = (flags & SESSION_FRESH) != 0;
  S_TRY(load_name(l, copy, err));
  S_TRY(load_language(l, copy, err));
  S_TRY(sb_in_text(&l->in, TEXT_MAX, &copy->cwd, err));
  S_TRY(load_env(&l->in, &copy->env, err));
  if (flags & SESSION_RLIMITS) S_TRY(load_rlimits(l, copy, err));
  return load_memory(l, copy, err);
}

static cay_status load_session(loading *l, cay_error *err) {
  cay_snapshot *s = l->s;
  S_TRY(sb_in_begin(&l->in, SECTION_SESSION, err));
  if (l->o.no_sessions) return sb_in_skip(&l->in, err);
  sb_session_copy *more = mem_realloc_array(s->sessions, s->session_count + 1, sizeof *more);
  if (more == NULL) return err_no_memory(err);
  s->sessions = more;
  sb_session_copy copy = { .process = SB_BELIEVED_INIT };
  cay_status status = load_session_fields(l, &copy, err);
  if (status == CAY_OK) status = sb_in_end(&l->in, err);
  if (status == CAY_OK)
    s->sessions[s->session_count++] = copy;
  else
    sb_session_copy_clear(&copy);
  return status;
}

/* ---- all of it ---- */

static cay_status load_native(loading *l, const void *ahead, size_t len, cay_read_fn *read, void *ctx,
                              cay_error *err) {
  S_TRY(sb_snapshot_new(l->engine, &l->s, err));
  S_TRY(sb_in_open(&l->in, l->engine->threads, ahead, len, read, ctx, err));
  S_TRY(load_head(l, err));
  if (l->has_files & HEAD_FILES) S_TRY(load_tree(l, SECTION_FILES, err));
  if (l->has_files & HEAD_SHM) S_TRY(load_shm(l, err));
  for (uint32_t i = 0; i < l->sessions; i++) S_TRY(load_session(l, err));
  S_TRY(sb_in_begin(&l->in, SECTION_END, err));
  return sb_in_end(&l->in, err);
}

/* The tree, and with a native file the rest, in one. */
static cay_status load_join(loading *l, cay_snapshot **out, cay_error *err) {
  cay_snapshot *files = NULL;
  S_TRY(cay_snapshot_maker_finish(MOVE(l->maker), NULL, &files, err));
  if (l->s == NULL) {
    *out = files;
    return CAY_OK;
  }
  l->s->tree = mem_tree_ref(files->tree);
  cay_snapshot_free(files);
  *out = MOVE(l->s);
  return CAY_OK;
}

static cay_status load_any(loading *l, cay_read_fn *read, void *ctx, cay_error *err) {
  uint8_t first[FIRST];
  S_TRY(sb_read_exactly(read, ctx, first, STREAM_MAGIC_LEN, err));
  if (memcmp(first, "cay-snap", 8) == 0) return load_native(l, first, STREAM_MAGIC_LEN, read, ctx, err);
  if (sb_read_exactly(read, ctx, first + STREAM_MAGIC_LEN, FIRST - STREAM_MAGIC_LEN, err) != CAY_OK ||
      !sb_tar_looks_so(first, sizeof first))
    return err_set(err, CAY_CORRUPT, "this is neither a snapshot nor a tar archive");
  return sb_tar_load(l->maker, l->o.path, first, sizeof first, read, ctx, err);
}

cay_status cay_snapshot_load(cay_engine *engine, const cay_snapshot_load_options *options, cay_read_fn *read,
                             void *ctx, cay_snapshot **out, cay_error *err) {
  loading l = { .engine = engine };
  if (!sb_options_copy(&l.o, sizeof l.o, options))
    return err_set(err, CAY_INVALID, "load options: from a newer version of snapshot.h");
  if (l.o.bytes_max == 0) l.o.bytes_max = LOAD_BYTES_MAX;
  cay_snapshot_maker_options m =
      CAY_INIT(cay_snapshot_maker_options, .bytes_max = l.o.bytes_max, .files_max = l.o.files_max);
  cay_status status = cay_snapshot_maker_new(engine, &m, &l.maker, err);
  if (status == CAY_OK) status = load_any(&l, read, ctx, err);
  if (status == CAY_OK) status = load_join(&l, out, err);
  cay_snapshot_maker_free(l.maker);
  cay_snapshot_free(l.s);
  sb_in_close(&l.in);
  return status;
}

typedef struct from_fd {
  int fd, failed;
} from_fd;

static int64_t read_from_fd(void *ctx, void *buf, size_t cap) {
  from_fd *f = ctx;
  ssize_t n;
  do n = mem_fault_here() ? (errno = EIO, -1) : read(f->fd, buf, cap);
  while (n < 0 && errno == EINTR);
  if (n < 0) f->failed = errno;
  return n;
}

cay_status cay_snapshot_load_fd(cay_engine *engine, const cay_snapshot_load_options *options, int fd,
                                cay_snapshot **out, cay_error *err) {
  from_fd f = { .fd = fd };
  cay_status status = cay_snapshot_load(engine, options, read_from_fd, &f, out, err);
  return f.failed != 0 ? err_errno(err, f.failed, "reading a snapshot") : status;
}
