/* conn.h - one connection, and the inside of a box; for the files of this folder. */
#pragma once

#include "net/authority.h"
#include "net/cache.h"
#include "net/dns.h"
#include "net/poller.h"
#include "net/tape.h"

enum {
  NET_PINS_MAX = 256,
  NET_QUERIES_MAX = 64,
  NET_EVENTS_MAX = 256,
  NET_UNSEEN_MAX = 4096 /* connections that the thread has not run yet */
};

struct net_box {
  net_host *host;
  net_policy *policy;
  net_secrets *secrets;     /* NULL: none */
  net_authority *authority; /* NULL: no TLS ends here */
  net_tape *tape;           /* NULL: nothing is recorded or replayed */
  net_cache *cache;         /* NULL: no answer is kept */
  net_limits limits;
  net_pin *pins;
  size_t pin_count;
  net_decision_fn *on_decision;
  net_ask_fn *ask;
  void *ctx;
  void (*free_ctx)(void *ctx);
  k_kernel *kernel;
  k_net net;
  _Atomic uint32_t refs;     /* the owner's, and one for each lookup and job on its way */
  _Atomic uint32_t open;     /* connections */
  _Atomic uint32_t admitted; /* of them, those that the thread has run, which count against the limit */
  _Atomic uint32_t events;   /* on their way to the poller */
  _Atomic uint32_t queries;  /* names being resolved */
  _Atomic uint64_t made, sent, received;
  pthread_mutex_t
      mu; /* for the names, and those granted by the embedder; taken inside kernel.mu, held for microseconds */
  net_names names;
  net_names granted; /* names that the embedder allowed, without addresses */
  /* of the poller's thread: */
  list conns;     /* net_conn.in_box */
  list listeners; /* publish.c */
  list lookups;   /* resolver.c */
  list asking;    /* questions for a name that the embedder is asked about */
  bool closed;
  int64_t tokens, tokens_at_ns; /* of limits.rate */
  uint64_t last_id;
};

enum net_conn_state { NET_CONN_NEW, NET_CONN_ASKING, NET_CONN_DIALING, NET_CONN_OPEN };
enum net_gate {
  NET_GATE_OPEN,  /* bytes pass */
  NET_GATE_HELLO, /* the first ones are held until their kind is known */
  NET_GATE_HTTP,  /* each request is checked */
};

/* The outer byte stream of a connection, as a non-blocking socket: by default a socket of the host. What ends TLS
 * on the host, records or replays stands here: a stream of its own around another. */
typedef struct net_outer {
  ssize_t (*send)(struct net_outer *o, const void *data, size_t len); /* send(2): -1 and errno; EAGAIN */
  ssize_t (*recv)(struct net_outer *o, void *data, size_t len);       /* recv(2) */
  void (*finish)(struct net_outer *o);                                /* shutdown(2) for writing */
  void (*close)(struct net_outer *o, bool reset);                     /* and frees it */
  void (*pump)(struct net_outer *o); /* NULL: a socket. Moves what lies between the guest and the world */
} net_outer;

typedef struct net_conn {
  net_item item;
  list in_box;
  net_poller *poller;
  net_box *box;
  k_net_end *end;
  enum net_conn_state state;
  uint64_t id; /* of a question to the embedder */
  net_addr addr;
  uint16_t port;
  bool sure; /* allowed by its address, whatever the first bytes say */
  bool dns;  /* to the resolver, by TCP */
  bool published;
  bool admitted; /* it counts against limits.connections */
  bool asked;    /* a head of HTTP has passed */
  net_outer *outer;
  int fd; /* of the outer socket; -1: none */
  enum net_gate gate;
  net_flow flow;
  buf begun;                     /* first bytes that went before their kind was known */
  int64_t held_ns;               /* since when such bytes wait; 0: none does */
  uint64_t answered_before;      /* they went */
  size_t passed;                 /* bytes at the beginning of the guest's that may go and have not gone */
  bool finished, ended;          /* no more bytes to the outside, from the outside */
  struct dns_question *question; /* to the resolver, on its way */
  _Atomic uint64_t answered;     /* bytes that came from outside */
  bool direct;                   /* guests' threads move the bytes (k_net_direct) */
  _Atomic int64_t moved_ns;      /* when they last did */
  _Atomic int direct_end;        /* their discovery: 0 none, -1 the end, or an errno */
  size_t appetite;               /* bytes that are asked for next: grows while they come */
  net_sighting
      *sighting; /* of placeholders that leave the sandbox; NULL: there are no secrets, or a relay looks */
  int64_t idle_since_ns, resume_ns;
} net_conn;

/* conn.c */
void net_conn_start(net_poller *p, net_conn *c, net_outer *outer); /* connected; `outer` NULL: no memory */
void net_conn_free(net_poller *p, net_conn *c);
net_conn *net_conn_new(net_poller *p, net_box *box, k_net_end *end);
void net_conn_add(net_poller *p, net_conn *c); /* the thread knows it from now on */
void net_conn_changed(void *conn);             /* for the end: k_net_changed_fn */
void net_conn_run(net_poller *p, net_item *item);
void net_conn_fail(net_poller *p, net_conn *c,
                   int32_t error); /* the guest's next operation answers this; freed */

/* dial.c */
void net_conn_dial(net_poller *p, net_conn *c);      /* begins, or refuses and frees */
void net_conn_dial_more(net_poller *p, net_conn *c); /* something happened */
void net_conn_deny(net_poller *p, net_conn *c);      /* the embedder does; tells it and frees */
net_outer *net_outer_socket(int fd);                 /* takes the descriptor over; NULL: no memory */
net_outer *net_outer_none(void); /* for replaying: neither takes nor gives bytes; static */

/* gate.c: bytes of the first `len` that may pass now; -1: the connection was refused and freed. */
int64_t net_gate_pass(net_poller *p, net_conn *c, const uint8_t *data, size_t len, bool last);

/* resolver.c */
void net_dns_on_datagram(void *ctx, const k_net_addr *from, const void *data, size_t len);
void net_conn_dns_run(net_poller *p, net_conn *c);                         /* a connection to the resolver */
void net_dns_forget(net_conn *c);                                          /* its question gets no answer */
void net_dns_answer(net_poller *p, net_box *box, uint64_t id, bool allow); /* of the embedder */
void net_dns_close(net_box *box); /* nor any question of the box; of the poller's thread */

/* publish.c */
void net_published_close(net_poller *p, net_box *box); /* of the poller's thread */

/* decide.c */
extern const net_addr net_denied_addr; /* what names lead to that may not be resolved */
typedef struct net_choice {
  bool possible; /* some bytes could be allowed */
  bool sure;     /* any bytes are */
  size_t rule;
  enum net_class class;
  char host[NET_HOST_MAX + 1]; /* by which it was decided */
} net_choice;
void net_decide_connect(net_box *box, const net_addr *addr, uint16_t port,
                        net_choice *out); /* takes box.mu */
/* Whether this name may be resolved. */
net_verdict net_decide_name(net_box *box, const char *host);
/* What the first bytes, or a request, say. */
bool net_decide_hello(net_conn *c, const net_hello *hello, net_choice *out);
/* Likewise of a request inside of TLS that ends here. */
bool net_decide_request(net_conn *c, const net_hello *head, net_choice *out);
/* Whether another protocol may begin behind a request that is allowed: a WebSocket, or any where no rule asks for its method or path. */
bool net_decide_upgrade(net_conn *c, const net_hello *head);
/* Whether a relay takes the connection: TLS for a host of a secret, TLS and HTTP for a tape. */
bool net_conn_is_relayed(const net_conn *c, const net_hello *hello);

/* Tells the embedder, on the poller's thread; from others by net_tell_later. */
void net_tell(net_box *box, const net_decision *decision);
void net_tell_later(net_box *box, enum net_event event, const char *host, const net_addr *addr, uint16_t port,
                    size_t rule, const char *reason);

void net_tell_request(net_conn *c, const net_hello *head, const net_choice *choice, bool allowed);
void net_tell_secret(const net_conn *c, const char *host, const char *secret, bool put);
void net_tell_fault(const net_conn *c, const char *host, const char *why); /* of the server's TLS */

void net_box_ref(net_box *box);
void net_box_unref(net_box *box);
/* Addresses as the guest has them: the host's loopback has stand-ins there. */
net_addr net_addr_from_guest(const uint8_t ip[static 16]);
net_addr net_addr_for_guest(const net_addr *host);
