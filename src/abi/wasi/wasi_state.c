/* wasi_state.c - the directories that are open when a program starts (fd_prestat_get). */
#include "abi/wasi/wasi.h"
#include "base/alloc.h"

#include <stdio.h>

void wasi_state_free(wasi_state *state) {
  if (state == NULL) return;
  for (size_t i = 0; i < state->count; i++) mem_free(state->preopens[i].name);
  mem_free(state);
}

wasi_preopen *wasi_preopen_of(abi_machine *m, int32_t fd) {
  for (size_t i = 0; i < m->wasi->count; i++)
    if (m->wasi->preopens[i].fd == fd) return &m->wasi->preopens[i];
  return NULL;
}

/* ---- which ---- */

static const char *variable_of(const k_program *program) {
  static const char name[] = WASI_PREOPENS_VARIABLE "=";
  for (uint32_t i = 0; i < program->envc; i++)
    if (strncmp(program->envp[i], name, sizeof name - 1) == 0) return program->envp[i] + sizeof name - 1;
  return NULL;
}

/* With kernel.mu. */
K_LOCKED static k_ret preopen_add(abi_machine *m, wasi_state *state, const char *name, size_t name_len,
                                  const char *path) {
  k_file *f = NULL;
  if (state->count == WASI_PREOPENS_MAX || name_len == 0) return -K_EINVAL;
  char *copy = mem_strndup(name, name_len);
  if (copy == NULL) return -K_ENOMEM;
  wasi_preopen *p = &state->preopens[state->count++];
  *p = (wasi_preopen){ .fd = -1, .name = copy };
  K_TRY(vfs_open(&m->p->view, NULL, path, K_O_RDONLY | K_O_DIRECTORY, 0, &f));
  k_ret fd = k_fd_add(&m->p->fds, f, WASI_STDIO, true);
  if (fd < 0) {
    k_file_unref(f);
    return fd;
  }
  p->fd = (int32_t)fd;
  return 0;
}

K_LOCKED static k_ret preopen_default(abi_machine *m, wasi_state *state) {
  K_TRY(preopen_add(m, state, "/", 1, "/"));
  state->preopens[0].whole = true;
  K_TRY(preopen_add(m, state, ".", 1, "."));
  state->preopens[1].whole = state->preopens[1].is_cwd = true;
  return 0;
}

/* NAME=PATH:NAME:…, where a name alone is its own path. */
K_LOCKED static k_ret preopen_listed(abi_machine *m, wasi_state *state, const char *list) {
  char path[K_PATH_MAX];
  for (const char *at = list; *at != 0; at += *at == ':') {
    size_t len = strcspn(at, ":"), name_len = strcspn(at, ":=");
    const char *from = name_len < len ? at + name_len + 1 : at;
    size_t path_len = (size_t)(at + len - from);
    if (path_len >= sizeof path) return -K_ENAMETOOLONG;
    memcpy(path, from, path_len);
    path[path_len] = 0;
    K_TRY(preopen_add(m, state, at, name_len, path));
    at += len;
  }
  return 0;
}

/* ---- where ---- */

/* wasi-libc looks for them from 3 on and stops at the first descriptor that was not preopened, so inherited descriptors
 * move up. With kernel.mu. */
K_LOCKED static k_ret wasi_make_room(abi_machine *m) {
  enum { END = WASI_STDIO + WASI_PREOPENS_MAX };
  k_fdtable *t = &m->p->fds;
  for (uint32_t fd = WASI_STDIO; fd < END && fd < t->cap; fd++) {
    if (t->slots[fd].file == NULL) continue;
    k_ret to = k_fd_add(t, k_file_ref(t->slots[fd].file), END, t->slots[fd].cloexec);
    if (to < 0) {
      k_file_unref(t->slots[fd].file);
      return to;
    }
    K_TRY(k_fd_close(t, (int32_t)fd));
  }
  return 0;
}

K_LOCKED static k_ret begin_locked(abi_machine *m, wasi_state *state) {
  const char *list = variable_of(m->p->program);
  K_TRY(wasi_make_room(m));
  return list != NULL ? preopen_listed(m, state, list) : preopen_default(m, state);
}

k_ret wasi_begin(abi_machine *m) {
  wasi_state *state = mem_zalloc(sizeof *state);
  if (state == NULL) return -K_ENOMEM;
  m->wasi = state;
  k_ret r = ABI_LOCKED(m, begin_locked(m, state));
  if (r >= 0) return 0;
  char why[160];
  (void)snprintf(why, sizeof why, "the directories of the program cannot be opened: %s",
                 k_errno_text((int)-r));
  abi_die(m, K_SIGKILL, why);
  return r;
}
