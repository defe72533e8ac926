/* Terminals: their size and their modes. */
#include "native.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>

static struct termios before;
static int changed = -1; /* the descriptor whose modes are others than before */

/* windowSize(fd): [columns, rows], or undefined when it is not known */
NATIVE(windowSize) {
  struct winsize size = { 0 };
  if (ioctl(native_int(c, argv[0]), TIOCGWINSZ, &size) < 0 || !size.ws_col) return JS_UNDEFINED;
  JSValue list = JS_NewArray(c);
  JS_SetPropertyUint32(c, list, 0, JS_NewInt32(c, size.ws_col));
  JS_SetPropertyUint32(c, list, 1, JS_NewInt32(c, size.ws_row));
  return list;
}

int terminal_restore(void) {
  int fd = changed;
  changed = -1;
  return fd < 0 ? 0 : tcsetattr(fd, TCSADRAIN, &before);
}

/* setRawMode(fd, on): raw as libuv has it, which leaves output and signals' characters to the program. */
NATIVE(setRawMode) {
  int fd = native_int(c, argv[0]);
  struct termios raw;
  if (!JS_ToBool(c, argv[1])) return native_result(c, terminal_restore());
  if (changed < 0 && tcgetattr(fd, &before) < 0) return native_result(c, -1);
  raw = before;
  raw.c_iflag &= (tcflag_t) ~(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
  raw.c_oflag |= ONLCR;
  raw.c_cflag |= CS8;
  raw.c_lflag &= (tcflag_t) ~(ECHO | ICANON | IEXTEN | ISIG);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  changed = fd;
  return native_result(c, tcsetattr(fd, TCSADRAIN, &raw));
}

NATIVE(restoreTerminal) { return native_result(c, terminal_restore()); }

static const JSCFunctionListEntry functions[] = {
  FUNCTION(windowSize, 1),
  FUNCTION(setRawMode, 2),
  FUNCTION(restoreTerminal, 0),
};

void native_add_terminal(JSContext *c, JSValueConst into) { ADD(into, functions); }
