/* children.h - see children.c. */
#pragma once

#include <stdbool.h>

bool children_signal_waits(void); /* one that the program watches came, and was not taken yet */
/* Has SIGINT come since interruptOn? */
bool children_interrupted(void);
