/* fd_snapshot_bytes.c - descriptors as bytes: a head, the descriptors, the files, the pipes, and then without gaps
 * the paths of the files, each with its NUL, and the contents of the pipes. Numbers are little-endian.
 * The bytes read here are hostile. */
#include "kernel/file/fd_snapshot_inner.h"

#include "base/alloc.h"
#include "kernel/file/pipe.h"
#include "kernel/sock/socket.h"

#include <stdio.h>
#include <string.h>

struct head {
  uint32_t fds, files, pipes, zero;
};

struct file_record {
  uint32_t kind, flags;
  int64_t pos;
  uint32_t pipe, path_len;
};

struct pipe_record {
  uint32_t cap, len;
};

/* ---- writing ---- */

/* /proc/PID of the process itself means another one elsewhere. */
static uint32_t rename_own(const k_process *p, char *path, uint32_t len) {
  char own[32];
  int own_len = snprintf(own, sizeof own, "/proc/%d/", p->pid);
  if (strncmp(path, own, (size_t)own_len) != 0) return len;
  static const char self[] = "/proc/self/";
  uint32_t rest = len - (uint32_t)own_len, self_len = sizeof self - 1;
  if (self_len + rest > K_PATH_MAX) return 0;
  memmove(path + self_len, path + own_len, rest);
  memcpy(path, self, self_len);
  return self_len + rest;
}

/* With its NUL; 0: it has none. */
K_LOCKED static uint32_t path_of(const k_process *p, k_inode *inode, char path[static K_PATH_MAX]) {
  k_ret len = vfs_path_of(&p->view, inode, path, K_PATH_MAX);
  return len > 0 ? rename_own(p, path, (uint32_t)len + 1) : 0;
}

K_LOCKED static uint32_t slots_of(const k_process *p, const k_file *f) {
  uint32_t count = 0;
  for (uint32_t fd = 0; fd < p->fds.cap; fd++) count += p->fds.slots[fd].file == f;
  return count;
}

/* Whether all its ends are in this process. */
K_LOCKED static bool is_inside(const k_process *p, const k_fd_snapshot *kept, const void *pipe) {
  uint32_t ends = 0, inside = 0;
  for (uint32_t i = 0; i < kept->file_count; i++) {
    const k_file *f = kept->files[i].live;
    if (k_pipe_of(f) != pipe) continue;
    ends = k_pipe_ends(f);
    if (slots_of(p, f) == f->refs) inside++;
  }
  return inside == ends;
}

struct writing {
  const k_process *p;
  k_fd_snapshot kept;
  const k_file **pipes; /* one end of each that is kept */
  uint32_t pipe_count;
  size_t queued;
  buf paths;
};

static bool find_pipe(const struct writing *w, const void *pipe, uint32_t *out) {
  for (*out = 0; *out < w->pipe_count; (*out)++)
    if (k_pipe_of(w->pipes[*out]) == pipe) return true;
  return false;
}

K_LOCKED static void describe_pipe(struct writing *w, k_fd_snapshot_file *one, const void *pipe) {
  const k_file *f = one->live;
  if (!find_pipe(w, pipe, &one->pipe)) {
    size_t len = k_pipe_peek(f, NULL, 0);
    if (w->queued + len > K_FD_SNAPSHOT_QUEUED_MAX || !is_inside(w->p, &w->kept, pipe)) return;
    w->queued += len;
    w->pipes[w->pipe_count++] = f;
  }
  one->kind = KEPT_PIPE;
}

K_LOCKED static k_ret fd_snapshot_bytes_describe(struct writing *w, k_fd_snapshot_file *one) {
  char path[K_PATH_MAX];
  const k_file *f = one->live;
  const void *pipe = k_pipe_of(f);
  one->kind = KEPT_DEAD;
  one->flags = f->flags & KEPT_FLAGS;
  if (pipe != NULL) describe_pipe(w, one, pipe);
  if (k_socket_is_connection(f)) one->kind = KEPT_CONNECTION;
  enum kept_kind kind = f->inode != NULL ? kept_kind_of(f->inode) : KEPT_DEAD;
  if (kind == KEPT_DEAD) return 0;
  one->path_len = path_of(w->p, f->inode, path);
  if (one->path_len == 0 || w->paths.len + one->path_len > w->paths.max) {
    one->path_len = 0;
    return 0;
  }
  one->kind = kind;
  one->pos = f->pos;
  return buf_append(&w->paths, path, one->path_len) == CAY_OK ? 0 : -K_ENOMEM;
}

static k_ret fd_snapshot_bytes_put(buf *out, const void *data, size_t len) {
  return len == 0 || buf_append(out, data, len) == CAY_OK ? 0 : -K_ENOMEM;
}

static k_ret put_records(const struct writing *w, buf *out) {
  const k_fd_snapshot *kept = &w->kept;
  struct head head = { kept->fd_count, kept->file_count, w->pipe_count, 0 };
  K_TRY(fd_snapshot_bytes_put(out, &head, sizeof head));
  K_TRY(fd_snapshot_bytes_put(out, kept->fds, kept->fd_count * sizeof *kept->fds));
  for (uint32_t i = 0; i < kept->file_count; i++) {
    const k_fd_snapshot_file *one = &kept->files[i];
    struct file_record record = { (uint32_t)one->kind, one->flags, one->pos, one->pipe, one->path_len };
    K_TRY(fd_snapshot_bytes_put(out, &record, sizeof record));
  }
  for (uint32_t i = 0; i < w->pipe_count; i++) {
    struct pipe_record record = { (uint32_t)k_pipe_capacity((k_file *)w->pipes[i]),
                                  (uint32_t)k_pipe_peek(w->pipes[i], NULL, 0) };
    K_TRY(fd_snapshot_bytes_put(out, &record, sizeof record));
  }
  return fd_snapshot_bytes_put(out, w->paths.data, w->paths.len);
}

static k_ret put_queued(const struct writing *w, buf *out) {
  for (uint32_t i = 0; i < w->pipe_count; i++) {
    size_t len = k_pipe_peek(w->pipes[i], NULL, 0);
    void *room = buf_room(out, len);
    if (room == NULL) return -K_ENOMEM;
    buf_grew(out, k_pipe_peek(w->pipes[i], room, len));
  }
  return 0;
}

K_LOCKED static k_ret write_kept(struct writing *w, buf *out) {
  const k_fd_snapshot *kept = &w->kept;
  size_t before = out->len;
  w->pipes = mem_zalloc_array(kept->file_count, sizeof *w->pipes);
  if (w->pipes == NULL) return -K_ENOMEM;
  for (uint32_t i = 0; i < kept->file_count; i++) K_TRY(fd_snapshot_bytes_describe(w, &kept->files[i]));
  k_ret r = put_records(w, out);
  if (r >= 0) r = put_queued(w, out);
  if (r < 0) out->len = before;
  return r;
}

k_ret k_fd_snapshot_write(const k_process *p, buf *out) {
  struct writing w = { .p = p,
                       .paths = BUF_INIT(K_FD_SNAPSHOT_LEN_MAX - K_FD_SNAPSHOT_QUEUED_MAX - (4 << 20)) };
  K_TRY(kept_list(p, K_FD_SNAPSHOT_FDS_MAX, &w.kept));
  k_ret r = w.kept.fd_count != 0 ? write_kept(&w, out) : 0;
  k_fd_snapshot_clear(&w.kept);
  mem_free(w.pipes);
  buf_free(&w.paths);
  return r;
}

/* ---- reading ---- */

static const void *fd_snapshot_bytes_take(cay_slice *left, size_t len) {
  const uint8_t *at = left->data;
  if (len > left->len) return NULL;
  *left = (cay_slice){ at + len, left->len - len };
  return at;
}

static k_ret read_fds(cay_slice *left, k_fd_snapshot *kept) {
  size_t len = kept->fd_count * sizeof *kept->fds;
  const void *records = fd_snapshot_bytes_take(left, len);
  if (records == NULL) return -K_EINVAL;
  memcpy(kept->fds, records, len);
  for (uint32_t i = 0, next = K_FD_SNAPSHOT_FIRST; i < kept->fd_count; i++) {
    const k_fd_snapshot_fd *one = &kept->fds[i];
    if (one->fd < next || one->fd >= K_FD_SNAPSHOT_FDS_MAX || one->file >= kept->file_count ||
        one->cloexec > 1)
      return -K_EINVAL;
    next = one->fd + 1;
  }
  return 0;
}

/* Only a file opened by path has a path, and only a pipe has a number. */
static bool fd_snapshot_bytes_fits(const struct file_record *r, const k_fd_snapshot *kept) {
  bool has_path = r->kind == KEPT_FILE || r->kind == KEPT_DIR || r->kind == KEPT_DEVICE;
  return r->kind < KEPT_KINDS && (r->flags & ~(uint32_t)KEPT_FLAGS) == 0 && r->pos >= 0 &&
         (r->path_len != 0) == has_path && r->path_len <= K_PATH_MAX &&
         (r->kind != KEPT_PIPE || r->pipe < kept->pipe_count);
}

static k_ret read_files(cay_slice *left, k_fd_snapshot *kept) {
  for (uint32_t i = 0; i < kept->file_count; i++) {
    struct file_record r;
    const void *record = fd_snapshot_bytes_take(left, sizeof r);
    if (record == NULL) return -K_EINVAL;
    memcpy(&r, record, sizeof r);
    if (!fd_snapshot_bytes_fits(&r, kept)) return -K_EINVAL;
    kept->files[i] = (k_fd_snapshot_file){
      .kind = (enum kept_kind)r.kind, .flags = r.flags, .pos = r.pos, .pipe = r.pipe, .path_len = r.path_len
    };
  }
  return 0;
}

static k_ret read_pipes(cay_slice *left, k_fd_snapshot *kept) {
  for (uint32_t i = 0; i < kept->pipe_count; i++) {
    struct pipe_record r;
    const void *record = fd_snapshot_bytes_take(left, sizeof r);
    if (record == NULL) return -K_EINVAL;
    memcpy(&r, record, sizeof r);
    if (r.cap < K_PAGE || r.cap > K_PIPE_CAP_MAX || (r.cap & (r.cap - 1)) != 0 || r.len > r.cap)
      return -K_EINVAL;
    kept->pipes[i] = (k_fd_snapshot_pipe){ .cap = r.cap, .len = r.len };
  }
  return 0;
}

static k_ret fd_snapshot_bytes_read_texts(cay_slice *left, k_fd_snapshot *kept) {
  for (uint32_t i = 0; i < kept->file_count; i++) {
    k_fd_snapshot_file *one = &kept->files[i];
    if (one->path_len == 0) continue;
    one->path = fd_snapshot_bytes_take(left, one->path_len);
    if (one->path == NULL || one->path[0] != '/' ||
        memchr(one->path, 0, one->path_len) != one->path + one->path_len - 1)
      return -K_EINVAL;
  }
  for (uint32_t i = 0; i < kept->pipe_count; i++) {
    kept->pipes[i].queued = fd_snapshot_bytes_take(left, kept->pipes[i].len);
    if (kept->pipes[i].queued == NULL) return -K_EINVAL;
  }
  return left->len == 0 ? 0 : -K_EINVAL;
}

static k_ret fd_snapshot_bytes_read_all(cay_slice left, k_fd_snapshot *kept) {
  K_TRY(read_fds(&left, kept));
  K_TRY(read_files(&left, kept));
  K_TRY(read_pipes(&left, kept));
  return fd_snapshot_bytes_read_texts(&left, kept);
}

static bool fd_snapshot_bytes_plausible(const struct head *head, size_t len) {
  return head->zero == 0 && head->files <= head->fds && head->pipes <= head->files && head->fds != 0 &&
         head->fds <= K_FD_SNAPSHOT_FDS_MAX && head->fds * sizeof(k_fd_snapshot_fd) < len;
}

K_UNCHECKED k_ret k_fd_snapshot_read(cay_slice bytes, k_fd_snapshot *out) {
  struct head head;
  k_fd_snapshot kept = { 0 };
  *out = kept;
  if (bytes.len == 0) return 0;
  const void *start = bytes.len <= K_FD_SNAPSHOT_LEN_MAX ? fd_snapshot_bytes_take(&bytes, sizeof head) : NULL;
  if (start == NULL) return -K_EINVAL;
  memcpy(&head, start, sizeof head);
  if (!fd_snapshot_bytes_plausible(&head, bytes.len)) return -K_EINVAL;
  kept = (k_fd_snapshot){ .fds = mem_zalloc_array(head.fds, sizeof *kept.fds),
                          .files = mem_zalloc_array(head.files + 1, sizeof *kept.files),
                          .pipes = mem_zalloc_array(head.pipes + 1, sizeof *kept.pipes),
                          .fd_count = head.fds,
                          .file_count = head.files,
                          .pipe_count = head.pipes };
  k_ret r = -K_ENOMEM;
  if (kept.fds != NULL && kept.files != NULL && kept.pipes != NULL)
    r = fd_snapshot_bytes_read_all(bytes, &kept);
  else
    kept.file_count = 0;
  if (r < 0)
    k_fd_snapshot_clear(&kept);
  else
    *out = kept;
  return r;
}
