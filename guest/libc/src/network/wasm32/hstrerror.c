#define _GNU_SOURCE
#include <netdb.h>

#include "locale_impl.h"
#include "no_server.h"

static const char *const texts[] = { "Resolver Error 0 (no error)", "Unknown host",
                                     "Host name lookup failure", "Unknown server error",
                                     "No address associated with name" };

const char *hstrerror(int code) {
  const char *text = (unsigned)code < sizeof texts / sizeof *texts ? texts[code] : "Unknown resolver error";
  if (code == NO_RECOVERY && no_server()) text = NO_SERVER;
  return LCTRANS_CUR(text);
}
