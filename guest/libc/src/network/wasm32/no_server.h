#ifndef CAY_NO_SERVER_H
#define CAY_NO_SERVER_H

#include "../lookup.h"

/* Whether /etc/resolv.conf names no server of names: the network is off then, or names are not part of what
 * its policy allows. */
static inline int no_server(void) {
  struct resolvconf conf;
  return __get_resolv_conf(&conf, 0, 0) == 0 && conf.nns == 0;
}

#define NO_SERVER "The network is off in this sandbox, names cannot be resolved"

#endif
