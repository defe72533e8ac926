/* secret.h - the values of --secret: NAME[=env:VARIABLE|=file:PATH]@HOST[,HOST…][+query][+body].
 *
 * A value never stands in the arguments, which other users of the machine can read. */
#pragma once

#include <cay/cay.h>

typedef struct secret_list {
  const cay_net_secret **items; /* NULL ended; NULL: none */
  size_t count;
} secret_list;

/* CAY_INVALID: the text; CAY_NOT_FOUND: its variable or file; CAY_NO_MEMORY. */
cay_status secret_add(secret_list *list, const char *text, cay_error *why);
void secret_list_wipe(const secret_list *list); /* the values; the library has its own */
void secret_list_free(secret_list *list);
