/* musl's texts in the words of other libcs. getaddrinfo answers EAI_FAIL also when /etc/resolv.conf names no server,
 * and then the text says that. */
#include <netdb.h>

#include "locale_impl.h"
#include "no_server.h"

static const char *const texts[] = {
  [-EAI_BADFLAGS] = "Bad value for ai_flags",
  [-EAI_NONAME] = "Name or service not known",
  [-EAI_AGAIN] = "Temporary failure in name resolution",
  [-EAI_FAIL] = "Non-recoverable failure in name resolution",
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
  if (code == EAI_FAIL && no_server()) text = NO_SERVER;
  return LCTRANS_CUR(text ? text : "Unknown error");
}
