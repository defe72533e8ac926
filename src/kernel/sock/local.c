/* local.c - names of AF_UNIX (unix(7)): in the file tree, or abstract, which are the kernel's and go with
 * their socket. A name in the tree stays when its socket goes, and then refuses. */
#include "kernel/sock/sock.h"

#include <stdio.h>
#include <string.h>

static bool is_abstract(const k_sockaddr *a) { return a->path_len > 0 && a->path[0] == '\0'; }

static k_socket *find_abstract(k_kernel *k, const k_sockaddr *addr) {
  LIST_EACH (s, &k->sockets, k_socket, named) {
    if (s->family == K_AF_UNIX && s->local.path_len == addr->path_len &&
        memcmp(s->local.path, addr->path, addr->path_len) == 0 && is_abstract(&s->local))
      return s;
  }
  return NULL;
}

/* A path is as long as its field, or ends at a NUL before. */
static void local_path_of(const k_sockaddr *addr, char path[static K_SUN_PATH + 1]) {
  memcpy(path, addr->path, addr->path_len);
  path[addr->path_len] = '\0';
}

K_LOCKED static k_ret find_in_tree(k_process *p, const k_sockaddr *addr, k_socket **out) {
  char path[K_SUN_PATH + 1];
  OWNED(k_inode_unref) k_inode *inode = NULL;
  local_path_of(addr, path);
  K_TRY(vfs_resolve(&p->view, NULL, path, 0, &inode));
  K_TRY(vfs_may(&p->view, inode, 2));
  if (inode->socket == NULL) return -K_ECONNREFUSED;
  *out = inode->socket;
  return 0;
}

K_LOCKED k_ret sock_local_find(k_process *p, const k_sockaddr *addr, int type, k_socket **out) {
  k_socket *found = NULL;
  if (addr->family != K_AF_UNIX || addr->path_len == 0 || p == NULL) return -K_EINVAL;
  if (is_abstract(addr))
    found = find_abstract(p->kernel, addr);
  else
    K_TRY(find_in_tree(p, addr, &found));
  if (found == NULL) return -K_ECONNREFUSED;
  if (found->type != type) return -K_EPROTOTYPE;
  *out = found;
  return 0;
}

/* ---- bind(2) ---- */

/* An address without a name asks for one that is free. */
static k_ret autoname(k_kernel *k, k_sockaddr *name) {
  enum { TRIES = 64, MASK = 0xfffff };
  char text[8];
  for (int i = 0; i < TRIES; i++) {
    *name = (k_sockaddr){ .family = K_AF_UNIX, .path_len = 6 };
    snprintf(text, sizeof text, "%05x", (unsigned)(rng_u64(&k->random) & MASK));
    memcpy(name->path + 1, text, 5);
    if (find_abstract(k, name) == NULL) return 0;
  }
  return -K_ENOSPC;
}

K_LOCKED static k_ret make_in_tree(k_process *p, k_socket *s, const k_sockaddr *addr) {
  char path[K_SUN_PATH + 1];
  local_path_of(addr, path);
  k_inode *made = NULL;
  k_ret r = vfs_make_socket(&p->view, path, &made);
  if (r < 0) return r == -K_EEXIST ? -K_EADDRINUSE : r;
  if (s->local.path_len != 0) { /* by another process, while a file system of the host was asked */
    k_inode_unref(made);
    return -K_EINVAL;
  }
  s->inode = made;
  made->socket = s;
  return 0;
}

/* Linux makes the name before it looks whether the socket has one. */
static k_ret bound_again(k_process *p, const k_sockaddr *addr) {
  char path[K_SUN_PATH + 1];
  if (addr->path_len == 0) return 0;
  if (is_abstract(addr)) return -K_EINVAL;
  local_path_of(addr, path);
  return vfs_access(&p->view, NULL, path, VFS_NOFOLLOW, 0) >= 0 ? -K_EADDRINUSE : -K_EINVAL;
}

k_ret sock_local_bind(k_process *p, k_socket *s, const k_sockaddr *addr) {
  if (addr->family != K_AF_UNIX || p == NULL) return -K_EINVAL;
  k_sockaddr name = *addr;
  if (s->local.path_len != 0) return bound_again(p, &name);
  if (!sock_has_name_room(s->kernel)) return -K_ENOBUFS;
  if (addr->path_len == 0) K_TRY(autoname(s->kernel, &name));
  if (!is_abstract(&name))
    K_TRY(make_in_tree(p, s, &name));
  else if (find_abstract(s->kernel, &name) != NULL)
    return -K_EADDRINUSE;
  s->local = name;
  sock_enter_names(s);
  return 0;
}

k_ret sock_local_autobind(k_process *p, k_socket *s) {
  if (!s->options.pass_cred || s->local.path_len != 0 || p == NULL) return 0;
  return sock_local_bind(p, s, &(k_sockaddr){ .family = K_AF_UNIX });
}

void sock_unname(k_socket *s) {
  sock_leave_names(s);
  if (s->inode == NULL) return;
  s->inode->socket = NULL;
  k_inode_unref(s->inode);
  s->inode = NULL;
}
