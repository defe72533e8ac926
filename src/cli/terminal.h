/* terminal.h - this program's terminal while the guest has one of its own (`cay run --tty`).
 *
 * Every key goes to the guest as it is typed (raw mode), the size of the window is passed on, and the
 * settings are put back at the end: when the run is over, when a signal ends or stops cay, and taken again
 * when it continues. Only SIGKILL leaves the terminal raw; `stty sane` or `reset` helps then.
 *
 * The signals are taken by a thread of its own. */
#pragma once

#include <cay/cay.h>

typedef struct terminal terminal;

/* Blocks its signals in the calling thread: call it before the first other thread, that of stop.h too. Where
 * standard input is no terminal only sizes are passed on, if standard output is one. NULL with errno. */
terminal *terminal_new(void);

/* The size of the window; 0, 0 when there is none. */
void terminal_size(const terminal *t, uint16_t *rows, uint16_t *cols);

/* Raw mode, before the process starts: its first output is to be shown as it comes. terminal_lend ends it. */
void terminal_begin(terminal *t);

/* From now on, until `process` is NULL, the terminal is for this process. */
void terminal_lend(terminal *t, cay_process *process);

/* Takes the terminal back first. NULL is fine. */
void terminal_free(terminal *t);
