/* fake_cay.h - the part of <cay/cay.h> that the servers use, without a sandbox behind it.
 *
 * Files are kept in a short list without directories: "/d" is one, and so is every path that ends in "/d".
 * A command is one of
 *   exit N       ends with N                         wait       runs until it is ended
 *   cat          writes its input                    dots N     N times "." on standard output
 *   spin         as wait, but never stops by itself: only a deadline or a kill in 10 ms steps
 *   split        half a character, a pause, the rest of it and a byte that is none
 *   leave        ends at once; its background process writes "late" when the test says so (fake_late)
 *   anything     writes it to standard error, and ends with 127
 * Allocations go through base/alloc.h, so that they can be made to fail. */
#pragma once

#include <cay/cay.h>

/* Makes what `leave` left behind write, and waits until it has. */
void fake_late(void);

/* Engines, sandboxes and processes that were made and not freed. */
int fake_alive(void);

/* How often a process was ended by a call since the last sandbox was made. */
int fake_kills(void);
