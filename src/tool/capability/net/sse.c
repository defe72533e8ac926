/* sse.c - the parser of event streams: lines put together, `data` handed on for each event (sse.h). */
#include "tool/capability/net/sse.h"

#include <string.h>

static bool sse_keep(reach_sse *s, bool fits) {
  s->full = s->full || !fits;
  return fits;
}

static bool sse_dispatch(reach_sse *s) {
  bool go_on = !s->has_data || s->fn(s->ctx, buf_text(&s->data), s->data.len);
  s->has_data = false;
  buf_clear(&s->data);
  return go_on;
}

static bool sse_take_line(reach_sse *s) {
  const char *line = buf_text(&s->line);
  size_t len = s->line.len;
  if (!s->begun && len >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) line += 3, len -= 3;
  s->begun = true;
  if (len == 0) return sse_dispatch(s);
  if (len < 4 || memcmp(line, "data", 4) != 0 || (len > 4 && line[4] != ':')) return true;
  size_t skip = len > 4 ? 5 : 4;
  if (len > skip && line[skip] == ' ') skip++;
  bool fits = (!s->has_data || buf_append_byte(&s->data, '\n') == CAY_OK) &&
              buf_append(&s->data, line + skip, len - skip) == CAY_OK;
  s->has_data = true;
  return sse_keep(s, fits);
}

bool reach_sse_feed(reach_sse *s, const void *data, size_t len) {
  const char *p = data, *end = p + len;
  while (p < end) {
    if (s->after_cr && *p == '\n') p++;
    s->after_cr = false;
    const char *stop = p;
    while (stop < end && *stop != '\n' && *stop != '\r') stop++;
    if (stop > p && !sse_keep(s, buf_append(&s->line, p, (size_t)(stop - p)) == CAY_OK)) return false;
    if (stop == end) return true;
    s->after_cr = *stop == '\r';
    bool go_on = sse_take_line(s);
    buf_clear(&s->line);
    if (!go_on) return false;
    p = stop + 1;
  }
  return true;
}

void reach_sse_free(reach_sse *s) {
  buf_free(&s->line);
  buf_free(&s->data);
}
