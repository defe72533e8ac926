/* tasks.h - the engine's own queue. */
#pragma once

#include <quickjs.h>

int tasks_run(JSContext *c);     /* until it is empty; -1 with an exception of one of them: call it again */
void tasks_forget(JSContext *c); /* after a stop: what reactions had begun has no end */
