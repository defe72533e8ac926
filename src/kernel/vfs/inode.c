#include "kernel/vfs/inode.h"

void k_inode_unref(k_inode *i) {
  if (i == NULL) return;
  assert(i->refs > 0);
  if (--i->refs == 0) i->ops->release(i);
}
