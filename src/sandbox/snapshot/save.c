/* save.c - a snapshot as a file (cay_snapshot_save). */
#include "engine/image_delta.h"
#include "sandbox/session/language.h"
#include "sandbox/snapshot/entry.h"
#include "sandbox/snapshot/sections.h"

#include "base/alloc.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef struct saving {
  const cay_snapshot *s;
  cay_snapshot_save_options o;
  sb_out out;
  sb_links links;
  uint8_t *piece;
  cay_status status;
  cay_error *err;
} saving;

enum { PIECE = 1 << 16 };

/* ---- the head ---- */

static cay_status save_env(sb_out *o, const sb_env *env, cay_error *err) {
  S_TRY(sb_out_u32(o, (uint32_t)env->count, err));
  for (size_t i = 0; i < env->count; i++) S_TRY(sb_out_text(o, env->entries[i], err));
  return CAY_OK;
}

static cay_status save_limits(sb_out *o, const cay_snapshot *s, cay_error *err) {
  const cay_limits *l = &s->limits;
  const uint64_t values[] = { l->memory,  l->disk,      l->output,        l->fuel,
                              l->wall_ms, l->processes, l->files,         l->open_files,
                              l->code,    l->cpu_ms,    l->background_ms, (uint64_t)s->mono_ns };
  S_TRY(sb_out_u32(o, COUNT_OF(values), err));
  for (size_t i = 0; i < COUNT_OF(values); i++) S_TRY(sb_out_u64(o, values[i], err));
  return CAY_OK;
}

static cay_status save_head(saving *v, cay_error *err) {
  const cay_snapshot *s = v->s;
  sb_out *o = &v->out;
  sb_out_begin(o, SECTION_HEAD);
  S_TRY(sb_out_put(o, s->id, sizeof s->id, err));
  S_TRY(sb_out_put(o, s->parent, sizeof s->parent, err));
  S_TRY(sb_out_u64(o, (uint64_t)s->created_ns, err));
  S_TRY(sb_out_text(o, s->label, err));
  S_TRY(save_limits(o, s, err));
  S_TRY(save_env(o, &s->env, err));
  S_TRY(sb_out_u8(o, v->o.no_files ? 0 : s->shm != NULL ? HEAD_FILES | HEAD_SHM : HEAD_FILES, err));
  S_TRY(sb_out_u32(o, v->o.no_sessions ? 0 : (uint32_t)s->session_count, err));
  return sb_out_end(o, err);
}

/* ---- files ---- */

static cay_status save_segments(saving *v, const mem_contents *c, cay_error *err) {
  for (uint64_t at = 0; at < c->size;) {
    k_ret data = mem_contents_seek(c, at, false);
    uint64_t start = data >= 0 ? (uint64_t)data : c->size;
    if (start > at) S_TRY(sb_out_u64(&v->out, SEGMENT_HOLE | (start - at), err));
    if (start == c->size) break;
    k_ret hole = mem_contents_seek(c, start, true);
    uint64_t end = hole >= 0 ? (uint64_t)hole : c->size;
    S_TRY(sb_out_u64(&v->out, end - start, err));
    for (at = start; at < end;) {
      size_t n = mem_contents_read(c, v->piece, end - at < PIECE ? (size_t)(end - at) : PIECE, at);
      S_TRY(sb_out_put(&v->out, v->piece, n, err));
      at += n;
    }
  }
  return sb_out_u64(&v->out, 0, err);
}

static cay_status save_entry(saving *v, const sb_pair *pair, cay_error *err) {
  const mem_node *n = pair->after;
  const char *first = NULL;
  sb_out *o = &v->out;
  if (n == NULL) {
    S_TRY(sb_out_u8(o, RECORD_REMOVED, err));
    return sb_out_text(o, pair->path, err);
  }
  S_TRY(sb_links_meet(&v->links, n, pair->path, &first, err));
  S_TRY(sb_out_u8(o, first != NULL ? RECORD_LINK : RECORD_ENTRY, err));
  S_TRY(sb_out_text(o, pair->path, err));
  if (first != NULL) return sb_out_text(o, first, err);
  S_TRY(sb_out_u32(o, n->mode, err));
  S_TRY(sb_out_u32(o, n->uid, err));
  S_TRY(sb_out_u32(o, n->gid, err));
  S_TRY(sb_out_u64(o, (uint64_t)n->mtime_ns, err));
  if (n->target != NULL) return sb_out_text(o, n->target, err);
  return sb_node_is(n, K_S_IFREG) ? save_segments(v, &n->contents, err) : CAY_OK;
}

static enum sb_walk save_visit(void *ctx, const sb_pair *pair) {
  saving *v = ctx;
  v->status = save_entry(v, pair, v->err);
  if (v->status != CAY_OK) return SB_WALK_STOP;
  return pair->after != NULL ? SB_WALK_INTO : SB_WALK_ON;
}

static cay_status save_tree(saving *v, uint32_t section, const mem_node *base, const mem_node *root,
                            cay_error *err) {
  sb_out_begin(&v->out, section);
  sb_links_free(&v->links);
  v->links = (sb_links){ 0 };
  S_TRY(sb_trees_walk(base, root, NULL, base == NULL, save_visit, v, err));
  S_TRY(v->status);
  S_TRY(sb_out_u8(&v->out, RECORD_END, err));
  return sb_out_end(&v->out, err);
}

static cay_status save_files(saving *v, cay_error *err) {
  const cay_snapshot *s = v->s;
  S_TRY(save_tree(v, SECTION_FILES, s->engine->base->root, s->tree->root, err));
  return s->shm != NULL ? save_tree(v, SECTION_SHM, NULL, s->shm->root, err) : CAY_OK;
}

/* ---- sessions ---- */

static cay_status save_sink(void *ctx, const void *data, size_t len, cay_error *err) {
  return sb_out_put(ctx, data, len, err);
}

static cay_status save_rlimits(sb_out *o, const sb_session_copy *copy, cay_error *err) {
  S_TRY(sb_out_u32(o, COUNT_OF(copy->rlimits), err));
  for (size_t i = 0; i < COUNT_OF(copy->rlimits); i++) {
    S_TRY(sb_out_u64(o, copy->rlimits[i].soft, err));
    S_TRY(sb_out_u64(o, copy->rlimits[i].hard, err));
  }
  return CAY_OK;
}

static cay_status save_session(saving *v, const sb_session_copy *copy, cay_error *err) {
  sb_out *o = &v->out;
  eng_image *boot = NULL;
  uint32_t flags = (copy->no_undo ? SESSION_NO_UNDO : 0U) | (copy->counts_fuel ? SESSION_COUNTS_FUEL : 0U) |
                   (copy->fresh ? SESSION_FRESH : 0U) | SESSION_RLIMITS;
  S_TRY(sb_language_boot(v->s->engine, copy->language, &boot, err));
  sb_out_begin(o, SECTION_SESSION);
  S_TRY(sb_out_u32(o, copy->id, err));
  S_TRY(sb_out_u32(o, flags, err));
  S_TRY(sb_out_text(o, copy->name, err));
  S_TRY(sb_out_text(o, copy->language->name, err));
  S_TRY(sb_out_text(o, copy->cwd, err));
  S_TRY(save_env(o, &copy->env, err));
  S_TRY(save_rlimits(o, copy, err));
  S_TRY(sb_believed_write(&copy->process, save_sink, o, err));
  S_TRY(eng_delta_write(copy->memory, boot, save_sink, o, err));
  return sb_out_end(o, err);
}

/* ---- all of it ---- */

static cay_status save_native(saving *v, cay_error *err) {
  S_TRY(save_head(v, err));
  if (!v->o.no_files) S_TRY(save_files(v, err));
  for (size_t i = 0; !v->o.no_sessions && i < v->s->session_count; i++)
    S_TRY(save_session(v, &v->s->sessions[i], err));
  sb_out_begin(&v->out, SECTION_END);
  return sb_out_end(&v->out, err);
}

cay_status cay_snapshot_save(const cay_snapshot *s, const cay_snapshot_save_options *options,
                             cay_write_fn *write, void *ctx, cay_error *err) {
  saving v = { .s = s, .err = err };
  if (!sb_options_copy(&v.o, sizeof v.o, options))
    return err_set(err, CAY_INVALID, "save options: from a newer version of snapshot.h");
  if (v.o.format == CAY_SNAPSHOT_TAR) return sb_tar_save(s, v.o.path, write, ctx, err);
  if (v.o.format != CAY_SNAPSHOT_NATIVE)
    return err_set(err, CAY_INVALID, "there is no format %d", (int)v.o.format);
  v.piece = mem_alloc(PIECE);
  cay_status status = v.piece != NULL ? sb_out_open(&v.out, write, ctx, err) : err_no_memory(err);
  if (status == CAY_OK) status = save_native(&v, err);
  sb_out_close(&v.out);
  sb_links_free(&v.links);
  mem_free(v.piece);
  return status;
}

typedef struct to_fd {
  int fd, failed;
} to_fd;

static bool write_to_fd(void *ctx, cay_slice bytes) {
  to_fd *f = ctx;
  for (size_t done = 0; done < bytes.len;) {
    ssize_t n = mem_fault_here() ? (errno = EIO, -1)
                                 : write(f->fd, (const uint8_t *)bytes.data + done, bytes.len - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) f->failed = errno;
    if (n < 0) return false;
    done += (size_t)n;
  }
  return true;
}

cay_status cay_snapshot_save_fd(const cay_snapshot *s, const cay_snapshot_save_options *options, int fd,
                                cay_error *err) {
  to_fd f = { .fd = fd };
  cay_status status = cay_snapshot_save(s, options, write_to_fd, &f, err);
  return f.failed != 0 ? err_errno(err, f.failed, "writing a snapshot") : status;
}
