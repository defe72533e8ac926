/* Named semaphores (sem_overview(7)) are message queues of the kernel, for processes share no memory: a unit is an
 * empty message, so waiting is receiving. A handle holds the queue's descriptor; it stays valid in a forked child. */
#ifndef CAY_NAMED_SEM_H
#define CAY_NAMED_SEM_H

#include <features.h>
#include <limits.h>
#include <semaphore.h>
#include <time.h>

enum { NAMED_SEM_QUEUE = 3 }; /* index in __val: descriptor + 1, or 0 for a semaphore of sem_init */

enum { NAMED_SEM_SIZE = NAME_MAX + 2 };

hidden int __named_sem_queue(char queue[NAMED_SEM_SIZE], const char *name);
hidden int __named_sem_post(sem_t *);
hidden int __named_sem_wait(sem_t *, const struct timespec *);
hidden int __named_sem_try(sem_t *);
hidden int __named_sem_value(sem_t *, int *);

static inline int sem_is_named(const sem_t *sem) { return sem->__val[NAMED_SEM_QUEUE] != 0; }

#endif
