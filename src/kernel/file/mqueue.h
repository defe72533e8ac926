/* mqueue.h - POSIX message queues (mq_overview(7)): named queues of messages with priorities, as descriptors.
 *
 * A queue lives while it has a name or is open. Its messages are charged to the memory of the sandbox.
 *
 * Locks       all require kernel.mu. */
#pragma once

#include "kernel/proc/process.h"

typedef struct k_mq_attr {
  uint32_t flags; /* K_O_NONBLOCK */
  int32_t max_messages, message_size, messages;
} k_mq_attr;

typedef struct k_mq_notice {
  bool signals; /* else the registration is silent (SIGEV_NONE) */
  int32_t signo;
  uint32_t value;
} k_mq_notice;

enum {
  K_MQ_PRIORITIES = 32768,
  K_MQ_DEFAULT_MESSAGES = 10,
  K_MQ_DEFAULT_SIZE = 8192,
  K_MQ_MESSAGES_MAX = 65536, /* what Linux allows at most */
  K_MQ_SIZE_MAX = 256 << 10, /* copied under the lock */
};

/* mq_open(3): attr NULL: the default sizes. INT32_MAX messages of one byte are a named semaphore: it holds K_MQ_MESSAGES_MAX
 * of them, and a send beyond is -K_EOVERFLOW, as sem_post(3) wants it. -K_ENOENT, -K_EEXIST, -K_EINVAL, -K_EACCES (a slash in the name),
 * -K_ENAMETOOLONG, -K_ENOSPC (too many queues), -K_ENOMEM. */
k_ret k_mq_open(k_kernel *k, const char *name, uint32_t flags, const k_mq_attr *attr,
                k_file **out) CHECKED K_LOCKED;
k_ret k_mq_unlink(k_kernel *k, const char *name) CHECKED K_LOCKED;

void k_mqs_free(k_kernel *k) K_LOCKED; /* takes all names away */

/* mq_timedsend(3), mq_timedreceive(3); deadline_ns of clock_mono_ns. A receive answers the length. All answer
 * -K_EBADF when `f` is no queue. */
k_ret k_mq_send(k_process *p, k_file *f, const void *bytes, size_t len, uint32_t priority,
                int64_t deadline_ns) CHECKED K_LOCKED;
k_ret k_mq_receive(k_process *p, k_file *f, void *bytes, size_t cap, uint32_t *priority,
                   int64_t deadline_ns) CHECKED K_LOCKED;

/* mq_getattr(3), mq_setattr(3): only flags are set; set NULL: nothing. */
k_ret k_mq_attributes(k_file *f, const uint32_t *set_flags, k_mq_attr *old) CHECKED K_LOCKED;

/* mq_notify(3); NULL: the registration of this process ends. -K_EBUSY. */
k_ret k_mq_notify(k_process *p, k_file *f, const k_mq_notice *notice) CHECKED K_LOCKED;
