/* pack.h - the bytecode that this program carries: Node's library and our own. */
#pragma once

#include <quickjs.h>

extern const uint8_t pack_bytes[];

JSValue pack_function(JSContext *c, const char *name);
