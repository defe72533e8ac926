/* devpts.h - /dev/pts: a name for the slave of each pseudo-terminal whose master is open (pts(4)). */
#pragma once

#include "kernel/vfs/inode.h"

k_ret devpts_new(k_inode **out) CHECKED;
