/* input.h - carries this program's standard input to the guest's, on a thread of its own.
 *
 * Bytes go as they come, of any value; end of file closes the guest's. Reading stops when no process of the
 * sandbox reads any more. Bytes read ahead of the guest are lost to programs that share the standard input (ssh
 * does the same): give `</dev/null` in loops. */
#pragma once

#include <cay/cay.h>

typedef struct input input;

/* NULL: the host gave no thread or descriptor, and errno says why. */
input *input_start(int fd, cay_process *process);

/* Stops reading. Returns at once when the program ended, else when it has taken the bytes being written. */
void input_stop(input *in);
