/* network.c - the network options of a sandbox: policy, secrets, trust store, decisions (network.h). */
#include "sandbox/network.h"

#include "base/alloc.h"
#include "net/authority.h"
#include "net/cache.h"
#include "net/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- options ---- */

static net_limits network_limits(const cay_net_limits *l) {
  return (net_limits){ .connections = l->connections,
                       .sent = l->sent,
                       .received = l->received,
                       .rate = l->rate,
                       .connect_ms = l->connect_ms,
                       .idle_ms = l->idle_ms };
}

static cay_status network_limits_read(const cay_net_limits *from, net_limits *out, cay_error *err) {
  cay_net_limits l;
  if (!sb_options_copy(&l, sizeof l, from))
    return err_set(err, CAY_INVALID, "network limits: from a newer version of net.h");
  *out = network_limits(&l);
  return CAY_OK;
}

cay_status sb_network_host(cay_engine *engine, const cay_net_limits *limits, cay_error *err) {
  net_host_options o = { 0 };
  net_limits wanted;
  S_TRY(network_limits_read(limits, &wanted, err));
  net_limits none = NET_LIMITS_DEFAULT;
  o.limits = (net_limits){ .connections = wanted.connections != 0 ? wanted.connections : none.connections,
                           .sent = wanted.sent != 0 ? wanted.sent : none.sent,
                           .received = wanted.received != 0 ? wanted.received : none.received,
                           .rate = wanted.rate != 0 ? wanted.rate : none.rate,
                           .connect_ms = wanted.connect_ms != 0 ? wanted.connect_ms : none.connect_ms,
                           .idle_ms = wanted.idle_ms != 0 ? wanted.idle_ms : none.idle_ms };
  return net_host_new(&o, &engine->net, err);
}

static cay_status network_policy(const cay_net_options *o, net_policy **out, cay_error *err) {
  net_policy_parts parts = { .deny = o->deny, .allow = o->allow, .preset = o->preset };
  yyjson_doc *doc = NULL;
  yyjson_read_err why;
  if (o->rules != NULL) {
    doc = yyjson_read_opts((char *)(uintptr_t)o->rules, strlen(o->rules), 0, NULL, &why);
    if (doc == NULL) return err_set(err, CAY_INVALID, "network.rules: no JSON: %s", why.msg);
    parts.rules = yyjson_doc_get_root(doc);
  }
  cay_status status = net_policy_build(&parts, out, err);
  yyjson_doc_free(doc);
  return status;
}

static cay_status network_pin(const char *text, net_pin *out, cay_error *err) {
  const char *equals = strchr(text, '=');
  net_addr itself;
  bool fine = equals != NULL && net_host_clean(text, (size_t)(equals - text), out->host) &&
              !net_addr_parse(out->host, &itself) && net_addr_parse(equals + 1, &out->addr);
  if (fine) return CAY_OK;
  return err_set(err, CAY_INVALID, "network.hosts: \"%.100s\" is no NAME=ADDRESS", text);
}

static cay_status network_pins(const char *const *texts, net_pin **out, size_t *count, cay_error *err) {
  enum { MOST = 1024 };
  size_t n = 0;
  while (texts != NULL && texts[n] != NULL) n++;
  if (n > MOST) return err_set(err, CAY_INVALID, "network.hosts: at most %d names", MOST);
  net_pin *pins = mem_zalloc_array(n + 1, sizeof *pins);
  if (pins == NULL) return err_no_memory(err);
  for (size_t i = 0; i < n; i++) {
    cay_status status = network_pin(texts[i], &pins[i], err);
    if (status == CAY_OK) continue;
    mem_free(pins);
    return status;
  }
  *out = pins;
  *count = n;
  return CAY_OK;
}

/* ---- secrets ---- */

static cay_status network_secret(const cay_net_secret *from, net_secret_spec *out, cay_error *err) {
  cay_net_secret s;
  if (!sb_options_copy(&s, sizeof s, from))
    return err_set(err, CAY_INVALID, "network.secrets: from a newer version of net.h");
  *out = (net_secret_spec){
    .name = s.name, .value = s.value, .placeholder = s.placeholder, .hosts = s.hosts, .places = s.places
  };
  return CAY_OK;
}

/* NULL in *out: none. */
static cay_status network_secrets(const cay_net_options *o, net_secrets **out, cay_error *err) {
  net_secret_spec specs[NET_SECRETS_MAX];
  size_t n = 0;
  *out = NULL;
  for (; o->secrets != NULL && o->secrets[n] != NULL; n++) {
    if (n == NET_SECRETS_MAX)
      return err_set(err, CAY_INVALID, "network.secrets: at most %d", NET_SECRETS_MAX);
    S_TRY(network_secret(o->secrets[n], &specs[n], err));
  }
  return n > 0 ? net_secrets_new(specs, n, out, err) : CAY_OK;
}

/* Guests see placeholders. */
static cay_status network_placeholders(cay_sandbox *box, const net_secrets *s, cay_error *err) {
  for (size_t i = 0; i < net_secrets_count(s); i++)
    S_TRY(cay_sandbox_setenv(box, net_secret_name(s, i), net_secret_placeholder(s, i), err));
  return CAY_OK;
}

static cay_status network_tape(const cay_net_options *o, net_tape **out, cay_error *err) {
  cay_status status = CAY_OK;
  if (o->record != NULL && o->replay != NULL)
    return err_set(err, CAY_INVALID, "network: record and replay exclude each other");
  if (o->record != NULL) status = net_tape_record(o->record, out, err);
  if (o->replay != NULL) status = net_tape_replay(o->replay, out, err);
  return status == CAY_OK ? CAY_OK
                          : err_prefix(err, status, "network.%s", o->record != NULL ? "record" : "replay");
}

static cay_status network_cache(const cay_net_options *o, const net_secrets *secrets, net_cache **out,
                                cay_error *err) {
  if (o->cache == NULL) return CAY_OK;
  if (o->record != NULL || o->replay != NULL)
    return err_set(err, CAY_INVALID, "network: a cache excludes record and replay");
  cay_status status = net_cache_open(o->cache, secrets, out, err);
  return status == CAY_OK ? CAY_OK : err_prefix(err, status, "network.cache");
}

/* ---- trust stores ---- */

static const char trust_store[] = "/etc/ssl/certs/ca-certificates.crt";
static const char trust_mark[] = "\n# Added by cay:\n";

static cay_status network_read_file(const char *path, buf *out, cay_error *err) {
  enum { MOST = 4 << 20 };
  char block[8192];
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return err_errno(err, errno, "network.ca_file: %.200s", path);
  ssize_t n;
  cay_status status = CAY_OK;
  while (status == CAY_OK && (n = read(fd, block, sizeof block)) > 0)
    status = out->len + (size_t)n <= MOST ? buf_append(out, block, (size_t)n) : CAY_LIMIT;
  (void)close(fd);
  return status == CAY_OK ? CAY_OK : err_set(err, status, "network.ca_file: %.200s is too long", path);
}

/* The store without what an earlier sandbox added, whose snapshot this one began as. */
static cay_status network_trust_store(cay_sandbox *box, buf *out, cay_error *err) {
  enum { MOST = 8 << 20 };
  cay_buf there = { 0 };
  cay_status status = cay_file_read_max(box, trust_store, MOST, &there, NULL);
  if (status != CAY_OK) return CAY_OK; /* it is made */
  const char *mark = memmem(there.data, there.len, trust_mark, strlen(trust_mark));
  size_t len = mark != NULL ? (size_t)(mark - (const char *)there.data) : there.len;
  status = buf_append(out, there.data, len);
  cay_buf_free(&there);
  return status == CAY_OK ? CAY_OK : err_no_memory(err);
}

/* Variables by which programs find certificates that do not look where OpenSSL looks. */
static cay_status network_trust_variables(cay_sandbox *box, cay_error *err) {
  static const char *const names[] = { "SSL_CERT_FILE",       "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
                                       "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO",     "PIP_CERT" };
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    pthread_mutex_lock(&box->env_mu);
    bool set = sb_env_get(&box->env, names[i]) != NULL;
    pthread_mutex_unlock(&box->env_mu);
    if (!set) S_TRY(cay_sandbox_setenv(box, names[i], trust_store, err));
  }
  return CAY_OK;
}

static cay_status network_trust(cay_sandbox *box, const net_authority *authority, const char *ca_file,
                                cay_error *err) {
  OWNED(buf_free) buf store = BUF_INIT(BUF_UNLIMITED);
  if (authority == NULL && ca_file == NULL) return CAY_OK;
  S_TRY(network_trust_store(box, &store, err));
  if (buf_append_text(&store, trust_mark) != CAY_OK) return err_no_memory(err);
  if (authority != NULL && buf_append_text(&store, net_authority_pem(authority)) != CAY_OK)
    return err_no_memory(err);
  if (ca_file != NULL) S_TRY(network_read_file(ca_file, &store, err));
  S_TRY(cay_file_write(box, trust_store, (cay_slice){ store.data, store.len }, 0644, err));
  return network_trust_variables(box, err);
}

/* ---- decisions ---- */

/* The functions of the embedder, and their argument. */
typedef struct sb_network {
  cay_engine *engine;
  cay_net_decision_fn *decision;
  cay_net_ask_fn *ask;
  void *ctx;
} sb_network;

static cay_net_decision network_public(const net_decision *d) {
  return (cay_net_decision){ .event = net_event_name(d->event),
                             .allowed = d->allowed,
                             .host = d->host,
                             .address = d->addr,
                             .port = d->port,
                             .rule = d->rule == SIZE_MAX ? -1 : (int64_t)d->rule,
                             .reason = d->reason,
                             .method = d->method,
                             .path = d->path,
                             .secret = d->secret };
}

static void network_on_decision(void *ctx, const net_decision *d) {
  const sb_network *n = ctx;
  cay_net_decision public = network_public(d);
  sb_log(n->engine, d->allowed ? CAY_LOG_DEBUG : CAY_LOG_INFO, "net", "%s %s%s%s%s%s:%u %s: %s", public.event,
         d->secret != NULL ? d->secret : "", d->secret != NULL ? " " : "", d->host,
         d->addr[0] != '\0' ? " " : "", d->addr, d->port, d->allowed ? "allowed" : "denied", d->reason);
  if (n->decision != NULL) n->decision(n->ctx, &public);
}

static void network_on_ask(void *ctx, const net_decision *d, uint64_t id) {
  const sb_network *n = ctx;
  cay_net_decision public = network_public(d);
  n->ask(n->ctx, &public, id);
}

/* ---- life ---- */

static cay_status network_new(cay_sandbox *box, const cay_net_options *o, net_box_options *made,
                              cay_error *err) {
  sb_network *n = mem_zalloc(sizeof *n);
  if (n == NULL) return err_no_memory(err);
  *n = (sb_network){ .engine = box->engine, .decision = o->decision, .ask = o->ask, .ctx = o->ctx };
  bool told = o->decision != NULL || box->engine->log != NULL;
  made->on_decision = told ? network_on_decision : NULL;
  made->ask = o->ask != NULL ? network_on_ask : NULL;
  made->ctx = n;
  made->free_ctx = mem_free;
  cay_status status = net_box_new(box->engine->net, made, &box->net, err);
  if (status != CAY_OK) {
    mem_free(n);
    return status;
  }
  net_box_attach(box->net, box->kernel);
  return CAY_OK;
}

/* A question to the embedder may take its time. */
static const char *network_resolv_conf(const cay_net_options *o) {
  return o->ask != NULL ? "nameserver 127.0.0.53\noptions timeout:60 attempts:1\n"
                        : "nameserver 127.0.0.53\noptions timeout:12 attempts:1\n";
}

static cay_status network_grant(cay_sandbox *box, const cay_net_options *o, cay_error *err) {
  net_box_options made = { 0 };
  net_pin *pins = NULL;
  S_TRY(network_limits_read(o->limits, &made.limits, err));
  S_TRY(network_policy(o, &made.policy, err));
  cay_status status = network_pins(o->hosts, &pins, &made.pin_count, err);
  made.pins = pins;
  if (status == CAY_OK) status = network_secrets(o, &made.secrets, err);
  if (status == CAY_OK) status = network_tape(o, &made.tape, err);
  if (status == CAY_OK) status = network_cache(o, made.secrets, &made.cache, err);
  if (status == CAY_OK && (made.secrets != NULL || made.tape != NULL || made.cache != NULL))
    status = net_authority_new(o->ca_file, o->crl_file, &made.authority, err);
  if (status == CAY_OK) status = network_trust(box, made.authority, o->ca_file, err);
  if (status == CAY_OK) status = network_placeholders(box, made.secrets, err);
  if (status == CAY_OK) status = network_new(box, o, &made, err);
  mem_free(pins);
  if (status != CAY_OK) {
    net_policy_free(made.policy);
    net_cache_free(made.cache);
    net_secrets_free(made.secrets);
    net_authority_free(made.authority);
    net_tape_free(made.tape);
    return status;
  }
  box->kernel->net = net_box_net(box->net);
  box->secrets = net_box_secrets(box->net);
  const char *conf = network_resolv_conf(o);
  return cay_file_write(box, "/etc/resolv.conf", (cay_slice){ conf, strlen(conf) }, 0644, err);
}

/* Options that allow nothing are those of no network: programs are told that it is off. */
static bool network_is_off(const cay_net_options *o) {
  bool preset = o->preset != NULL && strcmp(o->preset, "none") != 0;
  bool allow = o->allow != NULL && o->allow[0] != NULL;
  return !preset && !allow && o->rules == NULL && o->ask == NULL;
}

cay_status sb_network_set_up(cay_sandbox *box, const cay_net_options *options, cay_error *err) {
  cay_net_options o;
  if (!sb_options_copy(&o, sizeof o, options))
    return err_set(err, CAY_INVALID, "network options: from a newer version of net.h");
  if (options == NULL) return CAY_OK;
  if (!network_is_off(&o)) return network_grant(box, &o, err);
  net_policy *unused = NULL; /* the texts are checked all the same */
  net_pin *pins = NULL;
  OWNED(net_secrets_free) net_secrets *secrets = NULL;
  size_t pin_count;
  S_TRY(network_policy(&o, &unused, err));
  net_policy_free(unused);
  S_TRY(network_secrets(&o, &secrets, err));
  S_TRY(network_placeholders(box, secrets, err));
  S_TRY(network_pins(o.hosts, &pins, &pin_count, err));
  mem_free(pins);
  return CAY_OK;
}

void sb_network_forget(cay_sandbox *box) {
  static const char off[] = "options timeout:0 attempts:1\n";
  cay_buf conf = { 0 };
  if (box->kernel->net != NULL || cay_file_read_max(box, "/etc/resolv.conf", 4096, &conf, NULL) != CAY_OK)
    return;
  bool ours = conf.data != NULL && strstr(conf.data, "nameserver 127.0.0.53\n") != NULL;
  /* Without room on its disk, lookups answer after their time instead of at once. */
  if (ours) IGNORED(cay_file_write(box, "/etc/resolv.conf", CAY_TEXT(off), 0644, NULL));
  cay_buf_free(&conf);
}

void sb_network_close(cay_sandbox *box) {
  if (box->net == NULL) return;
  cay_error err = { 0 };
  net_box_close(box->net);
  if (net_box_save(box->net, &err) != CAY_OK)
    sb_log(box->engine, CAY_LOG_ERROR, "net", "nothing was written: %s", err.message);
  box->secrets = NULL;
  net_box_free(box->net);
  box->net = NULL;
}

/* ---- net.h ---- */

cay_status cay_net_answer(cay_sandbox *box, uint64_t id, bool allow, cay_error *err) {
  if (box->kernel->net == NULL) return err_set(err, CAY_INVALID, "the network is off in this sandbox");
  net_box_answer(box->net, id, allow);
  return CAY_OK;
}

/* A sandbox without a network can publish: its connections come from outside. */
static cay_status network_for_publish(cay_sandbox *box, cay_error *err) {
  cay_net_options nothing = CAY_INIT(cay_net_options);
  net_box_options made = { 0 };
  pthread_mutex_lock(&box->runs_mu);
  cay_status status = box->net != NULL ? CAY_OK : network_new(box, &nothing, &made, err);
  pthread_mutex_unlock(&box->runs_mu);
  return status;
}

cay_status cay_sandbox_publish(cay_sandbox *box, uint16_t port, const char *host, uint16_t *bound,
                               cay_error *err) {
  if (host == NULL) return err_set(err, CAY_INVALID, "publish: no place on the host was given");
  S_TRY(network_for_publish(box, err));
  return net_box_publish(box->net, port, host, bound, err);
}

void cay_net_usage_get(cay_sandbox *box, cay_net_usage *out) {
  net_usage used = { 0 };
  pthread_mutex_lock(&box->runs_mu);
  struct net_box *net = box->net;
  pthread_mutex_unlock(&box->runs_mu);
  if (net != NULL) net_box_usage(net, &used);
  *out = (cay_net_usage){ .connections = used.connections,
                          .connections_made = used.connections_made,
                          .sent = used.sent,
                          .received = used.received };
}
