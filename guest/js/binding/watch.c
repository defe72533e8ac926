/* Notices of changed files: inotify(7). */
#include "native.h"

#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

/* What libuv asks for. */
enum {
  WATCHED = IN_ATTRIB | IN_CREATE | IN_MODIFY | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | IN_MOVED_FROM |
            IN_MOVED_TO,
  CONTENTS = IN_ATTRIB | IN_MODIFY /* a change; all else is a name that came or went */
};

/* watchOpen(path): a descriptor that is ready when something has changed there, or -errno */
NATIVE(watchOpen) {
  char *path = native_path(c, argv[0]);
  if (!path) return JS_EXCEPTION;
  int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  JSValue result = native_result(c, fd);
  if (fd >= 0 && inotify_add_watch(fd, path, WATCHED) < 0) {
    result = native_result(c, -1);
    close(fd);
  }
  js_free(c, path);
  return result;
}

/* watchRead(fd): [was a name changed, name as bytes or null, …] */
NATIVE(watchRead) {
  alignas(struct inotify_event) char room[16 * (sizeof(struct inotify_event) + NAME_MAX + 1)];
  ssize_t got = read(native_int(c, argv[0]), room, sizeof room);
  JSValue list = JS_NewArray(c);
  uint32_t count = 0;
  for (ssize_t at = 0; at + (ssize_t)sizeof(struct inotify_event) <= got;) {
    const struct inotify_event *e = (const void *)(room + at);
    at += (ssize_t)sizeof *e + (ssize_t)e->len;
    if (e->mask & (IN_IGNORED | IN_Q_OVERFLOW)) continue;
    size_t len = e->len ? strnlen(e->name, e->len) : 0;
    JSValue name = len ? JS_NewArrayBufferCopy(c, (const uint8_t *)e->name, len) : JS_NULL;
    JS_SetPropertyUint32(c, list, count++, JS_NewBool(c, e->mask & ~(uint32_t)(CONTENTS | IN_ISDIR)));
    JS_SetPropertyUint32(c, list, count++, name);
  }
  return list;
}

static const JSCFunctionListEntry functions[] = {
  FUNCTION(watchOpen, 1),
  FUNCTION(watchRead, 1),
};

void native_add_watch(JSContext *c, JSValueConst into) { ADD(into, functions); }
