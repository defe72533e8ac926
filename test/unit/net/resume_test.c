/* resume_test.c - sessions of TLS that wait for the next connection to the same name and port. */
#include "net/resume.h"

#include "test.h"

#include <dlfcn.h>

typedef struct library {
  const net_openssl *ssl;
  SSL_SESSION *(*make)(void);
  int (*set_version)(SSL_SESSION *session, int version);
} library;

static library loaded(void) {
  library l;
  EXPECT_EQ(net_openssl_load(&l.ssl, NULL), CAY_OK);
  void *so = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);
  void *make = dlsym(so, "SSL_SESSION_new"), *set = dlsym(so, "SSL_SESSION_set_protocol_version");
  memcpy(&l.make, &make, sizeof make);
  memcpy(&l.set_version, &set, sizeof set);
  return l;
}

static SSL_SESSION *session_of(const library *l, int version) {
  SSL_SESSION *s = l->make();
  EXPECT(s != NULL && l->set_version(s, version) == 1);
  return s;
}

/* Whether this session is the next that is given out. */
static bool gives(const library *l, net_resume *r, const char *name, uint16_t port,
                  const SSL_SESSION *wanted) {
  SSL_SESSION *s = net_resume_take(r, name, port);
  l->ssl->SSL_SESSION_free(s);
  return s == wanted;
}

TEST(a_session_is_of_one_name_and_port) {
  library l = loaded();
  net_resume *r = net_resume_new(l.ssl);
  SSL_SESSION *s = session_of(&l, TLS1_2_VERSION);
  net_resume_keep(r, "api.test", 443, s);
  EXPECT(gives(&l, r, "api.test", 8443, NULL));
  EXPECT(gives(&l, r, "api.test.org", 443, NULL));
  EXPECT(gives(&l, r, "pi.test", 443, NULL));
  EXPECT(gives(&l, r, "api.test", 443, s));
  net_resume_free(r);
}

TEST(a_session_of_tls_1_3_is_used_once_and_the_latest_first) {
  library l = loaded();
  net_resume *r = net_resume_new(l.ssl);
  SSL_SESSION *first = session_of(&l, TLS1_3_VERSION), *second = session_of(&l, TLS1_3_VERSION);
  net_resume_keep(r, "api.test", 443, first);
  net_resume_keep(r, "api.test", 443, second);
  EXPECT(gives(&l, r, "api.test", 443, second));
  EXPECT(gives(&l, r, "api.test", 443, first));
  EXPECT(gives(&l, r, "api.test", 443, NULL));
  net_resume_free(r);
}

TEST(a_session_of_tls_1_2_is_used_again) {
  library l = loaded();
  net_resume *r = net_resume_new(l.ssl);
  SSL_SESSION *s = session_of(&l, TLS1_2_VERSION);
  net_resume_keep(r, "api.test", 443, s);
  EXPECT(gives(&l, r, "api.test", 443, s) && gives(&l, r, "api.test", 443, s));
  net_resume_free(r);
}

TEST(the_oldest_of_many_sessions_is_forgotten) {
  enum { MANY = 100 };
  library l = loaded();
  net_resume *r = net_resume_new(l.ssl);
  SSL_SESSION *last = NULL;
  for (uint16_t port = 1; port <= MANY; port++)
    net_resume_keep(r, "api.test", port, last = session_of(&l, TLS1_2_VERSION));
  EXPECT(gives(&l, r, "api.test", 1, NULL));
  EXPECT(gives(&l, r, "api.test", MANY - 16, NULL));
  EXPECT(!gives(&l, r, "api.test", MANY - 15, NULL));
  EXPECT(gives(&l, r, "api.test", MANY, last));
  net_resume_free(r);
}
