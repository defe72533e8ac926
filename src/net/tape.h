/* tape.h - a recording of the HTTP of one sandbox as a JSON document: made while it runs (record), or given in place of the network
 * (replay).
 *
 *   { "cay-tape": 1,
 *     "names": { "api.example.com": ["203.0.113.7"] },
 *     "exchanges": [ … ] }                              each as take.h writes it
 *
 * A request is found by method, URL and body. Equal requests get their answers in the order of the recording, each once.
 *
 * Threads     made and saved on the embedder's thread, used on the poller's in between. */
#pragma once

#include "net/resolve.h"
#include "net/take.h"

typedef struct net_tape net_tape;

/* `path` is made, or made empty: net_tape_save writes the recording there. CAY_IO, CAY_NO_MEMORY. */
cay_status net_tape_record(const char *path, net_tape **out, cay_error *err) CHECKED;
/* CAY_INVALID: no tape, and where it is wrong. */
cay_status net_tape_replay(const char *path, net_tape **out, cay_error *err) CHECKED;
cay_status net_tape_save(net_tape *t, cay_error *err) CHECKED; /* CAY_OK when it replays */
void net_tape_free(net_tape *t);                               /* NULL is fine */
OWNED_DEFINE(net_tape, net_tape_free)

bool net_tape_records(const net_tape *t); /* NULL: false, as below */
bool net_tape_replays(const net_tape *t);

/* The addresses that a name led to. */
void net_tape_put_name(net_tape *t, const char *host, const net_addrs *addrs);
bool net_tape_name(const net_tape *t, const char *host, net_addrs *out); /* false: it is not on the tape */

/* Takes the contents over. False: no memory, or there is no room on the tape. */
bool net_tape_put(net_tape *t, const net_secrets *s, net_take *take);
/* The answer to the request of `take`, which is filled in. False: it is not on the tape (any more), or no memory. */
bool net_tape_find(net_tape *t, const net_secrets *s, net_take *take);
