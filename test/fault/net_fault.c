/* net_fault.c - sandboxes with a network: rules, secrets, revocation lists, tapes and caches of files, published
 * ports. Each allocation and host call on the caller's thread fails once. */
#include "box.h"

#include <cay/net.h>

#include <stdio.h>
#include <unistd.h>

/* The path of a file beside the tests' others, until the next call. */
static const char *file_at(const char *name) {
  static char path[400];
  snprintf(path, sizeof path, "%s/%s", test_dir(), name);
  return path;
}

static const char *file_with(const char *name, const char *text) {
  FILE *f = fopen(file_at(name), "w");
  EXPECT(f != NULL && fputs(text, f) >= 0 && fclose(f) == 0);
  return file_at(name);
}

/* Makes and frees a sandbox with the network at each fault; freeing writes the tape or the cache. */
static void expect_clean(const cay_net_options *net) {
  cay_engine *e = box_engine();
  AT_EVERY_FAULT {
    cay_sandbox *box = NULL;
    cay_error err = { .status = CAY_OK };
    cay_status status = cay_sandbox_new(e, &CAY_INIT(cay_sandbox_options, .net = net), &box, &err);
    EXPECT_EQ(status == CAY_OK, box != NULL);
    if (status != CAY_OK) EXPECT(err.message[0] != '\0');
    cay_sandbox_free(box);
  }
}

static const char *const allow[] = { "example.com", "*.example.org:443", "10.0.0.0/8:80-90", NULL };

TEST(a_sandbox_with_rules_and_names) {
  cay_net_limits limits = CAY_INIT(cay_net_limits, .connections = 3, .rate = 1000);
  expect_clean(&CAY_INIT(cay_net_options, .preset = "package-registries", .deny = allow + 1, .allow = allow,
                         .rules = "[{\"allow\":true,\"host\":\"a.example\",\"port\":80}]",
                         .hosts = (const char *const[]){ "a.example=192.0.2.7", NULL }, .limits = &limits));
}

TEST(a_sandbox_with_secrets) {
  cay_net_secret secret = CAY_INIT(cay_net_secret, .name = "KEY", .value = "value-of-the-key",
                                   .hosts = (const char *const[]){ "api.example.com", NULL });
  expect_clean(&CAY_INIT(cay_net_options, .allow = allow,
                         .secrets = (const cay_net_secret *const[]){ &secret, NULL }));
}

TEST(a_sandbox_that_records_and_one_that_replays) {
  const char *tape = file_at("tape");
  expect_clean(&CAY_INIT(cay_net_options, .allow = allow, .record = tape));
  expect_clean(&CAY_INIT(cay_net_options, .allow = allow, .replay = tape));
}

static const char kept[] =
    "{\"cay-cache\": 1, \"answers\": [{\"stored\": 1, \"request\": {\"method\": \"GET\", \"url\": \"http://example.com:80/\", "
    "\"fields\": []}, \"answer\": {\"status\": 200, \"reason\": \"OK\", \"fields\": [[\"Cache-Control\", \"max-age=60\"]], "
    "\"body\": \"text\"}}]}";

TEST(a_sandbox_with_a_cache) {
  const char *cache = file_with("cache", kept);
  expect_clean(&CAY_INIT(cay_net_options, .allow = allow, .cache = cache));
  EXPECT_EQ(access(cache, R_OK), 0); /* whatever failed, it is there */
}

static const char revoked[] = "-----BEGIN X509 CRL-----\n"
                              "MIGoME8CAQEwCgYIKoZIzj0EAwIwDzENMAsGA1UEAwwEdGVzdBcNMjYxMTIyMjAw\n"
                              "MzUyWhcNMzYxMTE5MjAwMzUyWqAPMA0wCwYDVR0UBAQCAhAAMAoGCCqGSM49BAMC\n"
                              "A0kAMEYCIQD58LR8EchtptoEMwvTdcscNpAd2fN9Zkndc3seB1/f7gIhAJ02+4ts\n"
                              "UV3IR0LRcRKwLtt/XHhUTOflhmddZ2EVwdYq\n"
                              "-----END X509 CRL-----\n";

TEST(a_sandbox_with_lists_of_revoked_certificates) {
  const char *list = file_with("crl", revoked);
  cay_net_secret secret = CAY_INIT(cay_net_secret, .name = "KEY", .value = "value-of-the-key",
                                   .hosts = (const char *const[]){ "api.example.com", NULL });
  expect_clean(&CAY_INIT(cay_net_options, .allow = allow, .crl_file = list,
                         .secrets = (const cay_net_secret *const[]){ &secret, NULL }));
}

TEST(publishing_answering_and_counting) {
  cay_sandbox *box = box_new();
  AT_EVERY_FAULT {
    uint16_t port = 7;
    cay_error err = { .status = CAY_OK };
    cay_status status = cay_sandbox_publish(box, 8080, "0", &port, &err);
    if (status != CAY_OK) EXPECT(port == 7 && err.message[0] != '\0');
  }
  AT_EVERY_FAULT {
    char path[400];
    snprintf(path, sizeof path, "%s", file_at("socket"));
    if (cay_sandbox_publish(box, 8080, path, NULL, NULL) != CAY_OK) EXPECT_EQ(access(path, F_OK), -1);
  }
  cay_net_usage usage;
  cay_net_usage_get(box, &usage);
  EXPECT_EQ(usage.connections, 0);
  cay_sandbox_free(box);
  EXPECT_EQ(access(file_at("socket"), F_OK), -1);
}

TEST(zz_the_engine_is_given_back) { cay_engine_free(box_engine()); }
