/* Asks again and again, with the answer of the last time in its arguments. */
#include "tool.h"
EXPORT(execute) u64 execute(u32 at, u32 len) {
  static const char head[] =
      "{\"status\":\"capability_call\",\"capability_call\":{\"name\":\"clock.now_unix\",\"args\":";
  u8 *out = (u8 *)tool_alloc(len + sizeof head + 8), *p = out;
  for (u32 i = 0; i + 1 < sizeof head; i++) *p++ = (u8)head[i];
  for (u32 i = 0; i < len; i++) *p++ = ((u8 *)at)[i];
  *p++ = '}', *p++ = '}';
  return GIVE(out, p - out);
}
