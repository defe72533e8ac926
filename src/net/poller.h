/* poller.h - the one thread of an engine that moves bytes between sandboxes and the world: epoll(7), non-blocking
 * sockets, no thread per connection. For the files of this folder.
 *
 * Its own lock protects the lists by which others reach it. It is the last lock: it is taken inside kernel.mu and
 * box.mu and held for a few instructions. The thread takes no lock while it works, but kernel.mu within the k_net
 * functions and box.mu for the names.
 *
 * A connection is freed by the thread alone, in `run`, never while a batch of events is read. */
#pragma once

#include "base/cancel.h"
#include "base/list.h"
#include "base/thread.h"
#include "net/box.h"
#include "net/flow.h"

typedef struct net_poller net_poller;

/* Work for the thread, in the order of posting. It frees itself. */
typedef struct net_job net_job;
struct net_job {
  list node;
  void (*run)(net_poller *poller, net_job *job);
};

/* Something that the thread looks at: a connection, or a socket that listens. */
typedef struct net_item net_item;
struct net_item {
  list all;                /* poller.items */
  list ready;              /* poller.ready */
  list inbox;              /* poller.inbox; under poller.mu */
  int64_t due_ns;          /* `run` is called by then; INT64_MAX: never */
  bool readable, writable; /* since the last EAGAIN */
  void (*run)(net_poller *poller, net_item *item);
};

enum { NET_CHUNK = 256 << 10 };

struct net_poller {
  pthread_t thread;
  int epoll, bell;
  pthread_mutex_t mu; /* for the next four */
  list inbox, jobs;
  bool stop;
  bool rung;
  list items, ready; /* of the thread alone, as all below */
  int64_t next_due_ns, now_ns;
  uint8_t *chunk; /* NET_CHUNK bytes */
  list lookups;   /* that wait for a thread */
  unsigned lookups_running;
  net_hello hello;
};

struct net_host {
  net_host_options options;
  pthread_mutex_t mu; /* for the start of the others */
  net_poller *poller;
  thread_pool *lookups;
  cancel stop; /* raised at the end, for lookups */
};

/* NULL: the host gives no thread or descriptor. */
net_poller *net_host_poller(net_host *host);

void net_poller_post(net_poller *p, net_job *job);   /* any thread, any lock */
void net_poller_look(net_poller *p, net_item *item); /* likewise: run it soon */

/* Of the thread: */
void net_item_add(net_poller *p, net_item *item, void (*run)(net_poller *, net_item *));
void net_item_remove(net_poller *p, net_item *item);
bool net_item_watch(net_poller *p, net_item *item, int fd); /* both ways, on edges */
void net_item_again(net_poller *p, net_item *item);         /* in the next round */
void net_item_due(net_poller *p, net_item *item, int64_t due_ns);
