/* environment.h - the environment of the process, for the libc and for os.environ together. */
#pragma once

#include "greeting.h"

/* What the libc has becomes what os.environ says. 0, or -1 with an exception. */
int environment_read(void);

/* Both become these. Entries without a name or a sign are left out. */
int environment_replace(const variable *variables, size_t count);
