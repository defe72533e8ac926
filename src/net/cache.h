/* cache.h - answers of HTTP that are kept and given again, as RFC 9111 says for a cache that several users share: nothing that
 * is `private`, `no-store` or sets a cookie; answers to requests with credentials only where they say `public`, `s-maxage` or
 * `must-revalidate`. The server says the freshness (`s-maxage`, `max-age`, `Expires`), it is never guessed; a stale answer is
 * asked for again with its validator.
 *
 * It belongs to one sandbox, and is shared with others by its file alone: read when the sandbox is made, written when it is
 * freed, each time whole.
 *
 * Bounds      NET_CACHE_MAX bytes together, a quarter of that for one answer; the answers not used for the longest time go first.
 *
 * Threads     made and saved on the embedder's thread, used on the poller's in between. */
#pragma once

#include "net/take.h"

enum { NET_CACHE_MAX = 64 << 20, NET_CACHE_ANSWER_MAX = NET_CACHE_MAX / 4 };

typedef struct net_cache net_cache;

/* A file that is not there is an empty cache. CAY_INVALID: it is none. The secrets are borrowed. */
cay_status net_cache_open(const char *path, const net_secrets *s, net_cache **out, cay_error *err) CHECKED;
cay_status net_cache_save(net_cache *c, cay_error *err) CHECKED; /* another file takes its place at once */
void net_cache_free(net_cache *c);                               /* NULL is fine */
OWNED_DEFINE(net_cache, net_cache_free)

enum net_cache_found {
  NET_CACHE_NOTHING,
  NET_CACHE_FRESH, /* the take has the answer */
  NET_CACHE_STALE, /* `conditions` has fields for the request; 304 makes it fresh */
};

/* For the request of `take`, at this time in seconds since 1970. `credentials`: the request has some that the take does not
 * show. */
enum net_cache_found net_cache_find(net_cache *c, net_take *take, bool credentials, int64_t now_s,
                                    buf *conditions);
/* The answer 304 came, with these fields, to a request with `conditions`: the take has the whole answer. False: it is gone
 * meanwhile, or no memory. */
bool net_cache_freshen(net_cache *c, net_take *take, const buf *fields, int64_t now_s);

/* Whether the answer, whose head the take has, may be kept; its body may then follow. */
bool net_cache_wants(const net_take *take, bool credentials);
/* The exchange is whole. */
void net_cache_put(net_cache *c, net_take *take, int64_t now_s);
/* The request may have changed the resource at its URL. */
void net_cache_drop(net_cache *c, const net_take *take);
