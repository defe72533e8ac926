#include <mqueue.h>

#include "named_sem.h"

int sem_unlink(const char *name) {
  char queue[NAMED_SEM_SIZE];
  return __named_sem_queue(queue, name) ? -1 : mq_unlink(queue);
}
