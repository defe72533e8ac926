/* stop.h - what Ctrl-C and kill(1) do to a run.
 *
 *   SIGINT             goes to the guest; a second one within a second ends everything
 *   SIGTERM, SIGHUP    go to the guest; a second later, or at the next one, everything is ended
 *   before and after   a run they end cay as they end any program
 *
 * or to the call of a tool: the first one cancels it, the next one ends cay.
 *
 * A signal that was ignored when cay started stays ignored (nohup). The signals are taken by a thread of its
 * own, never by a handler, so nothing here has to be async-signal-safe. */
#pragma once

#include <cay/tool.h>

typedef struct stop stop;

/* Blocks the signals in the calling thread and all it makes later: call it before the first other thread.
 * NULL: the host gave no thread or descriptor, and errno says why. */
stop *stop_new(void);

/* A process is about to start: a signal from now on waits for the stop_aim that follows, for 100 ms at most. */
void stop_expect(stop *s);

/* From now on, until `process` is NULL, signals are for this process of this sandbox. */
void stop_aim(stop *s, cay_sandbox *box, cay_process *process);

/* The same, for a call that this cancels. */
void stop_aim_tool(stop *s, cay_tool_cancel *call);

/* The last signal that came while one was aimed at; 0: none. */
int stop_signal(stop *s);

/* Did it end the run by force? */
bool stop_forced(stop *s);

void stop_free(stop *s);

/* Ends cay as that signal would have: the parent sees how it came. */
_Noreturn void stop_die(int signal);
