/* session_process.c - what an image believes of its process: taken, given to another process, and as bytes. */
#include "engine/checksum.h"
#include "sandbox/session/session.h"

#include <string.h>

cay_status sb_believed_take(const abi_resident *r, sb_believed *out, cay_error *err) {
  const k_process *p = abi_resident_process(r);
  abi_resident_signals(r, &out->signals);
  k_lock(p->kernel);
  k_ret taken = k_fd_snapshot_write(p, &out->files);
  k_unlock(p->kernel);
  return taken < 0 ? err_no_memory(err) : CAY_OK;
}

/* ---- given to a session ---- */

/* Everything that can fail. */
cay_status sb_files_open(cay_session *s, const cay_image *image, sb_files *out, cay_error *err) {
  sb_files files = { 0 };
  k_lock(s->box->kernel);
  k_signals *signals = &abi_resident_process(s->resident)->signals;
  k_ret r = k_signals_reserve(signals, image->process.signals.actions);
  if (r >= 0)
    r = k_fd_snapshot_read((cay_slice){ image->process.files.data, image->process.files.len }, &files.kept);
  if (r >= 0) r = k_fd_snapshot_open(abi_resident_process(s->resident), &files.kept, &files.open);
  if (r < 0) k_fd_snapshot_clear(&files.kept);
  k_unlock(s->box->kernel);
  if (r < 0) return err_no_memory(err);
  *out = files;
  return CAY_OK;
}

void sb_files_put(cay_session *s, const cay_image *image, sb_files *files) {
  k_lock(s->box->kernel);
  k_fd_snapshot_put(abi_resident_process(s->resident), &files->kept, files->open);
  k_fd_snapshot_clear(&files->kept);
  k_unlock(s->box->kernel);
  abi_resident_set_signals(s->resident, &image->process.signals);
  abi_resident_revive(s->resident);
}

void sb_files_drop(cay_session *s, sb_files *files) {
  k_lock(s->box->kernel);
  k_fd_snapshot_drop(&files->kept, files->open);
  k_fd_snapshot_clear(&files->kept);
  k_unlock(s->box->kernel);
}

/* ---- as bytes: a head, the descriptors ---- */

static const char magic[8] = "cay-sess";
static const char old_magic[8] = "cay-imag"; /* version 1: the memory alone */
enum { VERSION = 2 };

struct head {
  char magic[8];
  uint32_t version, files_len;
  uint64_t sum; /* over this head with 0 here, the signals and the descriptors */
  abi_signals signals;
};

static uint64_t session_process_sum_of(const struct head *head, const buf *files) {
  struct head blank = *head;
  checksum sum = { 0 };
  blank.sum = 0;
  checksum_add(&sum, &blank, sizeof blank);
  if (files->len != 0) checksum_add(&sum, files->data, files->len);
  return checksum_end(&sum);
}

cay_status sb_believed_write(const sb_believed *process, eng_image_sink *sink, void *ctx, cay_error *err) {
  struct head head = { .version = VERSION,
                       .files_len = (uint32_t)process->files.len,
                       .signals = process->signals };
  memcpy(head.magic, magic, sizeof head.magic);
  head.sum = session_process_sum_of(&head, &process->files);
  S_TRY(sink(ctx, &head, sizeof head, err));
  return process->files.len != 0 ? sink(ctx, process->files.data, process->files.len, err) : CAY_OK;
}

static cay_status session_process_check_head(const struct head *head, cay_error *err) {
  if (memcmp(head->magic, old_magic, sizeof old_magic) == 0)
    return err_set(err, CAY_UNSUPPORTED, "the image has version 1 of the format, not %d", VERSION);
  if (memcmp(head->magic, magic, sizeof magic) != 0) return err_set(err, CAY_CORRUPT, "this is no image");
  if (head->version != VERSION)
    return err_set(err, CAY_UNSUPPORTED, "the image has version %u of the format, not %d", head->version,
                   VERSION);
  if (head->files_len > K_FD_SNAPSHOT_LEN_MAX)
    return err_set(err, CAY_CORRUPT, "the image was damaged: it has too many descriptors");
  return CAY_OK;
}

/* Unchecked: descriptors read from bytes name no files yet. */
K_UNCHECKED static cay_status check_files(const struct head *head, const buf *files, cay_error *err) {
  k_fd_snapshot kept;
  if (session_process_sum_of(head, files) != head->sum)
    return err_set(err, CAY_CORRUPT, "the image was damaged: the sum of its descriptors is wrong");
  k_ret r = k_fd_snapshot_read((cay_slice){ files->data, files->len }, &kept);
  if (r == -K_ENOMEM) return err_no_memory(err);
  if (r < 0) return err_set(err, CAY_CORRUPT, "the image was damaged: its descriptors do not fit together");
  k_fd_snapshot_clear(&kept);
  return CAY_OK;
}

/* The first field is the version: the rest of the head may be missing in another. */
static cay_status session_process_read_head(struct head *head, eng_image_source *source, void *ctx,
                                            cay_error *err) {
  enum { FIRST = offsetof(struct head, sum) };
  S_TRY(source(ctx, head, FIRST, err));
  S_TRY(session_process_check_head(head, err));
  return source(ctx, &head->sum, sizeof *head - FIRST, err);
}

cay_status sb_believed_read(sb_believed *process, eng_image_source *source, void *ctx, cay_error *err) {
  struct head head;
  S_TRY(session_process_read_head(&head, source, ctx, err));
  void *room = buf_room(&process->files, head.files_len);
  if (room == NULL) return err_no_memory(err);
  S_TRY(source(ctx, room, head.files_len, err));
  buf_grew(&process->files, head.files_len);
  process->signals = head.signals;
  return check_files(&head, &process->files, err);
}
