/* kubernetes.c - the current context of kubectl, from the files of KUBECONFIG or the service account of a
 * pod (kubernetes.h). */
#include "grpc/service/kubernetes.h"

#include "base/buf.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONFIG_MAX = 1 << 20 };

/* A plain or quoted YAML scalar up to its end or comment. */
static bool read_scalar(const char *at, const char *end, char *out, size_t cap) {
  while (at < end && (*at == ' ' || *at == '\t')) at++;
  char quote = at < end && (*at == '"' || *at == '\'') ? *at++ : '\0';
  const char *stop = at;
  while (stop < end && (quote != '\0' ? *stop != quote : *stop != '#')) stop++;
  while (quote == '\0' && stop > at && strchr(" \t\r", stop[-1]) != NULL) stop--;
  size_t len = (size_t)(stop - at);
  if (len == 0 || len >= cap) return false;
  memcpy(out, at, len);
  out[len] = '\0';
  return true;
}

bool kubernetes_context_in(cay_slice config, char *out, size_t cap) {
  static const char key[] = "current-context:";
  enum { LEN = sizeof key - 1 };
  const char *at = config.data, *end = config.len != 0 ? at + config.len : at;
  while (at < end) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    if (stop == NULL) stop = end;
    if ((size_t)(stop - at) > LEN && memcmp(at, key, LEN) == 0) return read_scalar(at + LEN, stop, out, cap);
    at = stop + 1;
  }
  return false;
}

static bool context_of_file(const char *path, char *out, size_t cap) {
  buf text = BUF_INIT(CONFIG_MAX);
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  struct stat st;
  bool found = false;
  if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
    ssize_t len = 0;
    for (void *room; (room = buf_room(&text, 4096)) != NULL && (len = read(fd, room, 4096)) > 0;)
      buf_grew(&text, (size_t)len);
    found = kubernetes_context_in((cay_slice){ text.data, text.len }, out, cap);
  }
  if (fd >= 0) (void)close(fd);
  buf_free(&text);
  return found;
}

/* Files are separated by ':'. */
static bool context_of_list(const char *list, char *out, size_t cap) {
  for (const char *at = list; *at != '\0';) {
    size_t len = strcspn(at, ":");
    char path[PATH_MAX];
    if (len > 0 && len < sizeof path) {
      memcpy(path, at, len);
      path[len] = '\0';
      if (context_of_file(path, out, cap)) return true;
    }
    at += len + (at[len] == ':');
  }
  return false;
}

void kubernetes_context(char *out, size_t cap) {
  char path[PATH_MAX];
  out[0] = '\0';
  const char *list = getenv("KUBECONFIG"), *home = getenv("HOME");
  if (list != NULL && list[0] != '\0') {
    if (context_of_list(list, out, cap)) return;
  } else if (home != NULL) {
    (void)snprintf(path, sizeof path, "%s/.kube/config", home);
    if (context_of_file(path, out, cap)) return;
  }
  if (access("/var/run/secrets/kubernetes.io/serviceaccount/token", R_OK) == 0)
    (void)snprintf(out, cap, "in-cluster");
}
