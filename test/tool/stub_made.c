/* A placeholder whose answer is put together when it is called. */
#include "tool.h"
static char out[64];
static u32 len;
static void put(const char *text) {
  while (*text != 0) out[len++] = *text++;
}
static void member(const char *name) {
  put("\"");
  put(name);
  put("\":");
}
EXPORT(execute) u64 execute(u32 at, u32 input_len) {
  (void)at, (void)input_len;
  put("{");
  member("message");
  put("\"stub responses\",");
  member("stub");
  put("true}");
  return GIVE(out, len);
}
