#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mqueue.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "named_sem.h"

/* The handles of this process: opening a name twice gives the same one. */
struct handle {
  sem_t sem;
  ino_t inode;
  int count;
  struct handle *next;
};
static struct handle *handles;

int __named_sem_queue(char *queue, const char *name) {
  static const char prefix[] = "sem.";
  while (*name == '/') name++;
  if (!*name || strchr(name, '/')) return errno = EINVAL, -1;
  if (strlen(name) > NAME_MAX - sizeof prefix) return errno = ENAMETOOLONG, -1;
  snprintf(queue, NAMED_SEM_SIZE, "/%s%s", prefix, name);
  return 0;
}

static mqd_t create(const char *queue, mode_t mode, unsigned value) {
  struct mq_attr attr = { .mq_maxmsg = LONG_MAX, .mq_msgsize = 1 };
  mqd_t fd = mq_open(queue, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode, &attr);
  for (; fd >= 0 && value > 0; value--)
    if (mq_send(fd, "", 0, 0)) {
      mq_close(fd);
      mq_unlink(queue);
      return -1;
    }
  return fd;
}

static mqd_t open_queue(const char *queue, int flags, mode_t mode, unsigned value) {
  for (;;) {
    mqd_t fd = -1;
    if (!(flags & O_EXCL) || !(flags & O_CREAT)) {
      fd = mq_open(queue, O_RDWR | O_CLOEXEC);
      if (fd >= 0 || errno != ENOENT || !(flags & O_CREAT)) return fd;
    }
    fd = create(queue, mode, value);
    if (fd >= 0 || errno != EEXIST || (flags & O_EXCL)) return fd;
  }
}

static sem_t *handle_of(mqd_t fd) {
  struct stat st;
  struct handle *h;
  if (fstat(fd, &st)) goto fail;
  for (h = handles; h; h = h->next)
    if (h->inode == st.st_ino) {
      mq_close(fd);
      h->count++;
      return &h->sem;
    }
  if (!(h = calloc(1, sizeof *h))) goto fail;
  h->sem.__val[NAMED_SEM_QUEUE] = fd + 1;
  h->inode = st.st_ino;
  h->count = 1;
  h->next = handles;
  handles = h;
  return &h->sem;
fail:
  mq_close(fd);
  return SEM_FAILED;
}

sem_t *sem_open(const char *name, int flags, ...) {
  char queue[NAMED_SEM_SIZE];
  mode_t mode = 0;
  unsigned value = 0;
  if (__named_sem_queue(queue, name)) return SEM_FAILED;
  if (flags & O_CREAT) {
    va_list ap;
    va_start(ap, flags);
    mode = va_arg(ap, mode_t);
    value = va_arg(ap, unsigned);
    va_end(ap);
    if (value > SEM_VALUE_MAX) return errno = EINVAL, SEM_FAILED;
  }
  mqd_t fd = open_queue(queue, flags, mode, value);
  return fd < 0 ? SEM_FAILED : handle_of(fd);
}

int sem_close(sem_t *sem) {
  for (struct handle **p = &handles; *p; p = &(*p)->next) {
    struct handle *h = *p;
    if (&h->sem != sem) continue;
    if (--h->count) return 0;
    *p = h->next;
    mq_close(h->sem.__val[NAMED_SEM_QUEUE] - 1);
    free(h);
    return 0;
  }
  return errno = EINVAL, -1;
}

static mqd_t queue_of(const sem_t *sem) { return sem->__val[NAMED_SEM_QUEUE] - 1; }

int __named_sem_post(sem_t *sem) { return mq_send(queue_of(sem), "", 0, 0); }

int __named_sem_wait(sem_t *sem, const struct timespec *at) {
  char message;
  return mq_timedreceive(queue_of(sem), &message, 1, 0, at) < 0 ? -1 : 0;
}

/* A deadline that has passed: the queue answers at once. */
int __named_sem_try(sem_t *sem) {
  if (!__named_sem_wait(sem, &(struct timespec){ 0 })) return 0;
  if (errno == ETIMEDOUT) errno = EAGAIN;
  return -1;
}

int __named_sem_value(sem_t *sem, int *value) {
  struct mq_attr attr;
  if (mq_getattr(queue_of(sem), &attr)) return -1;
  *value = (int)attr.mq_curmsgs;
  return 0;
}
