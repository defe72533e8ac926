/* musl's texts in the words of other libcs, and one of our own: getaddrinfo answers EAI_FAIL when
 * /etc/resolv.conf names no server. */
#include <netdb.h>

#include "locale_impl.h"

static const char *const texts[] = {
  [-EAI_BADFLAGS] = "Bad value for ai_flags",
  [-EAI_NONAME] = "Name or service not known",
  [-EAI_AGAIN] = "Temporary failure in name resolution",
  [-EAI_FAIL] = "The network is off in this sandbox, names cannot be resolved",
  [-EAI_NODATA] = "No address associated with hostname",
  [-EAI_FAMILY] = "ai_family not supported",
  [-EAI_SOCKTYPE] = "ai_socktype not supported",
  [-EAI_SERVICE] = "Servname not supported for ai_socktype",
  [-EAI_MEMORY] = "Memory allocation failure",
  [-EAI_SYSTEM] = "System error",
  [-EAI_OVERFLOW] = "Argument buffer overflow",
};

const char *gai_strerror(int code) {
  unsigned at = -(unsigned)code;
  const char *text = at < sizeof texts / sizeof *texts ? texts[at] : 0;
  return LCTRANS_CUR(text ? text : "Unknown error");
}
