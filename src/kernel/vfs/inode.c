/* inode.c - references, and one writer at a time (inode.h). */
#include "kernel/vfs/inode.h"

#include "kernel/notify/notify.h"

void k_inode_unref(k_inode *i) {
  if (i == NULL) return;
  assert(i->refs > 0);
  if (--i->refs == 0)
    i->ops->release(i);
  else if (i->refs == 1 && i->watched != NULL)
    k_notify_unused(i->watched);
}

K_LOCKED static void wait_for_writer(const k_inode *i) {
  k_sleeper sleeper;
  k_waitq *queue = &i->kernel->positions;
  if (k_sleeper_init(&sleeper, i->kernel, NULL) < 0) return; /* cannot: it takes no memory */
  while (i->writing) (void)!k_sleep(&sleeper, &queue, 1, K_FOREVER);
  k_sleeper_destroy(&sleeper);
}

K_LOCKED void k_inode_write_begin(k_inode *i) {
  if (i->kernel == NULL) return; /* not mounted yet: there is one thread */
  if (i->writing) wait_for_writer(i);
  i->writing = true;
}

void k_inode_write_end(k_inode *i) {
  i->writing = false;
  if (i->kernel != NULL) k_wake(&i->kernel->positions);
}
