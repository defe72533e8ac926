/* take.h - one exchange of HTTP as a value: the request as the guest sent it, the answer as the guest got it; and its form in
 * JSON, which tapes and caches have.
 *
 *   { "request": { "method": "GET", "url": "https://api.example.com:443/", "fields": [["Host", "…"]], "body": "" },
 *     "answer": { "status": 200, "reason": "OK", "fields": [["Content-Type", "…"]], "body": "…" } }
 *
 * A body that is no UTF-8 is "bodyBase64". Placeholders of secrets stand as {{NAME}}; values are never in it. */
#pragma once

#include "base/buf.h"
#include "net/secret.h"

#include <yyjson.h>

enum { NET_TAKE_MAX = 512 << 20 /* bytes of each member */ };

typedef struct net_take {
  buf method, url, request_fields, request_body; /* fields: lines with their ends */
  int status;
  buf reason, answer_fields, answer_body;
} net_take;

void net_take_init(net_take *take);
void net_take_free(net_take *take);
size_t net_take_len(const net_take *take); /* bytes in it */

/* NULL: no memory. */
yyjson_mut_val *net_take_write(yyjson_mut_doc *doc, const net_secrets *s, const net_take *take);

bool net_take_is_whole(yyjson_val *one); /* has all members, each in its form */
/* Of a whole one. False: no memory, or a body that is no base64. */
bool net_take_read_request(const net_secrets *s, yyjson_val *one, net_take *take);
bool net_take_read_answer(const net_secrets *s, yyjson_val *one, net_take *take);
/* Whether method, URL and body are those of `take`. */
bool net_take_is_of(const net_secrets *s, yyjson_val *one, const net_take *take);
