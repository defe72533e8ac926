/* resume.c - the sessions of TLS of one sandbox, by name and port (resume.h). */
#include "net/resume.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "net/policy.h"

#include <stdio.h>
#include <string.h>

enum { SESSIONS_MAX = 16 };
#define LIFE_NS (INT64_C(600) * 1000000000)

typedef struct kept {
  char name[NET_HOST_MAX + 1];
  uint16_t port;
  int64_t since_ns;
  SSL_SESSION *session; /* NULL: a free place */
} kept;

struct net_resume {
  const net_openssl *ssl;
  kept sessions[SESSIONS_MAX];
  size_t next; /* as many were kept: its place is the oldest */
};

net_resume *net_resume_new(const net_openssl *ssl) {
  net_resume *r = mem_zalloc(sizeof *r);
  if (r != NULL) r->ssl = ssl;
  return r;
}

static void kept_drop(net_resume *r, kept *k) {
  r->ssl->SSL_SESSION_free(k->session); /* NULL is fine */
  k->session = NULL;
}

void net_resume_free(net_resume *r) {
  if (r == NULL) return;
  for (size_t i = 0; i < SESSIONS_MAX; i++) kept_drop(r, &r->sessions[i]);
  mem_free(r);
}

void net_resume_keep(net_resume *r, const char *name, uint16_t port, SSL_SESSION *session) {
  kept *k = &r->sessions[r->next++ % SESSIONS_MAX];
  kept_drop(r, k);
  (void)snprintf(k->name, sizeof k->name, "%s", name);
  k->port = port;
  k->since_ns = clock_mono_ns();
  k->session = session;
}

static bool kept_fits(const kept *k, const char *name, uint16_t port) {
  return k->session != NULL && k->port == port && strcmp(k->name, name) == 0 &&
         clock_mono_ns() - k->since_ns < LIFE_NS;
}

SSL_SESSION *net_resume_take(net_resume *r, const char *name, uint16_t port) {
  for (size_t i = 1; i <= SESSIONS_MAX; i++) {
    kept *k = &r->sessions[(r->next - i) % SESSIONS_MAX];
    if (!kept_fits(k, name, port)) continue;
    if (r->ssl->SSL_SESSION_get_protocol_version(k->session) >= TLS1_3_VERSION) return MOVE(k->session);
    return r->ssl->SSL_SESSION_up_ref(k->session) == 1 ? k->session : NULL;
  }
  return NULL;
}
