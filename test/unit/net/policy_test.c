/* policy_test.c - who may connect to what. */
#include "net/policy.h"

#include "base/random.h"
#include "test.h"

static cay_status parse(const char *text, net_policy **out, cay_error *err) {
  yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
  EXPECT(doc != NULL);
  cay_status status = net_policy_read(yyjson_doc_get_root(doc), "network", out, err);
  yyjson_doc_free(doc);
  return status;
}

static bool allowed(const char *rules, const char *scheme, const char *host, uint16_t port,
                    const char *addr) {
  net_policy *policy = NULL;
  EXPECT_EQ(parse(rules, &policy, NULL), CAY_OK);
  net_addr to;
  EXPECT(net_addr_parse(addr, &to));
  net_target target = { .scheme = scheme, .host = host, .port = port };
  net_verdict v = net_policy_check(policy, &target, &to);
  if (v.allowed) EXPECT(net_policy_may(policy, &target, NULL).allowed);
  net_policy_free(policy);
  return v.allowed;
}

#define RULES(text) "{\"rules\":[" text "]}"
#define ALL RULES("{\"action\":\"allow\"}")

TEST(without_a_rule_the_answer_is_no) {
  net_addr to = { 4, { 1, 1, 1, 1 } };
  net_target target = { .scheme = "https", .host = "example.com", .port = 443 };
  EXPECT(!net_policy_check(NULL, &target, &to).allowed);
  EXPECT(!net_policy_may(NULL, &target, NULL).allowed);
  EXPECT(!allowed("{}", "https", "example.com", 443, "1.1.1.1"));
  EXPECT(!allowed(RULES(""), "https", "example.com", 443, "1.1.1.1"));
}

TEST(a_rule_for_everything_reaches_public_addresses_alone) {
  static const char *const special[] = {
    "127.0.0.1",       "10.0.0.1",        "192.168.0.1",   "172.16.0.1",
    "169.254.169.254", "169.254.1.1",     "100.64.0.1",    "0.0.0.0",
    "224.0.0.1",       "255.255.255.255", "::1",           "::",
    "fe80::1",         "fd00:ec2::254",   "fc00::1",       "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",  "64:ff9b::7f00:1", "2002:7f00:1::", "::7f00:1"
  };
  EXPECT(allowed(ALL, "https", "example.com", 443, "1.1.1.1"));
  EXPECT(allowed(ALL, "https", "example.com", 443, "2606:4700::1111"));
  for (size_t i = 0; i < COUNT_OF(special); i++) {
    EXPECT(!allowed(ALL, "https", "example.com", 443, special[i]));
    EXPECT(!allowed(RULES("{\"action\":\"allow\",\"cidr\":[\"0.0.0.0/0\",\"::/0\"]}"), "http", "x.org", 80,
                    special[i]));
    EXPECT(!allowed(RULES("{\"action\":\"allow\",\"host\":[\"*\",\"x.org\"]}"), "http", "x.org", 80,
                    special[i]));
  }
}

TEST(special_addresses_must_be_named) {
  EXPECT(allowed(RULES("{\"action\":\"allow\",\"cidr\":\"10.0.0.0/8\"}"), "http", "x.org", 80, "10.1.1.1"));
  EXPECT(
      allowed(RULES("{\"action\":\"allow\",\"host\":\"127.0.0.1\"}"), "http", "127.0.0.1", 80, "127.0.0.1"));
  EXPECT(!allowed(RULES("{\"action\":\"allow\",\"host\":\"127.0.0.1\"}"), "http", "x.org", 80, "127.0.0.1"));
  EXPECT(allowed(RULES("{\"action\":\"allow\",\"host\":\"localhost\"}"), "http", "localhost", 80, "::1"));
  EXPECT(
      !allowed(RULES("{\"action\":\"allow\",\"host\":\"localhost\"}"), "http", "localhost", 80, "10.0.0.1"));
  EXPECT(!allowed(RULES("{\"action\":\"allow\",\"cidr\":\"169.254.0.0/16\"}"), "http", "x.org", 80,
                  "169.254.169.254"));
  EXPECT(allowed(RULES("{\"action\":\"allow\",\"cidr\":\"169.254.169.254/32\"}"), "http", "x.org", 80,
                 "169.254.169.254"));
}

TEST(an_address_that_carries_another_must_be_allowed_as_both) {
#define MAPPED "{\"action\":\"allow\",\"cidr\":\"::ffff:0:0/96\"}"
#define TEN "{\"action\":\"allow\",\"cidr\":\"10.0.0.0/8\"}"
  EXPECT(!allowed(RULES(MAPPED), "http", "x.org", 80, "::ffff:10.0.0.1"));
  EXPECT(!allowed(RULES(TEN), "http", "x.org", 80, "::ffff:10.0.0.1"));
  EXPECT(allowed(RULES(MAPPED "," TEN), "http", "x.org", 80, "::ffff:10.0.0.1"));
  EXPECT(!allowed(RULES(MAPPED "," TEN), "http", "x.org", 80, "::ffff:169.254.169.254"));
}

TEST(the_first_rule_that_matches_decides) {
#define DENY "{\"action\":\"deny\",\"host\":\"bad.example.com\"}"
#define ALLOW "{\"action\":\"allow\",\"host\":\"*.example.com\"}"
  EXPECT(!allowed(RULES(DENY "," ALLOW), "https", "bad.example.com", 443, "1.1.1.1"));
  EXPECT(allowed(RULES(ALLOW "," DENY), "https", "bad.example.com", 443, "1.1.1.1"));
  EXPECT(allowed(RULES(DENY "," ALLOW), "https", "good.example.com", 443, "1.1.1.1"));
  EXPECT(!allowed(RULES("{\"action\":\"deny\",\"cidr\":\"1.1.0.0/16\"}," ALLOW), "https", "a.example.com",
                  443, "1.1.1.1"));
}

TEST(a_suffix_is_below_itself) {
  EXPECT(allowed(RULES(ALLOW), "https", "a.b.example.com", 443, "1.1.1.1"));
  EXPECT(!allowed(RULES(ALLOW), "https", "example.com", 443, "1.1.1.1"));
  EXPECT(!allowed(RULES(ALLOW), "https", "badexample.com", 443, "1.1.1.1"));
  EXPECT(!allowed(RULES(ALLOW), "https", "example.com.evil.org", 443, "1.1.1.1"));
}

TEST(ports_and_schemes_are_conditions_too) {
#define PORTS "{\"action\":\"allow\",\"port\":[443,\"8000-8010\"],\"scheme\":[\"https\",\"tcp\"]}"
  EXPECT(allowed(RULES(PORTS), "https", "x.org", 443, "1.1.1.1"));
  EXPECT(allowed(RULES(PORTS), "tcp", "x.org", 8000, "1.1.1.1"));
  EXPECT(allowed(RULES(PORTS), "tcp", "x.org", 8010, "1.1.1.1"));
  EXPECT(!allowed(RULES(PORTS), "tcp", "x.org", 8011, "1.1.1.1"));
  EXPECT(!allowed(RULES(PORTS), "http", "x.org", 443, "1.1.1.1"));
}

TEST(a_name_that_no_rule_could_allow_is_not_asked_for) {
  net_policy *policy = NULL;
  EXPECT_EQ(parse(RULES("{\"action\":\"deny\",\"host\":\"no.example.com\"},{\"action\":\"allow\",\"host\":"
                        "\"*.example.com\",\"port\":443}"),
                  &policy, NULL),
            CAY_OK);
  EXPECT(
      net_policy_may(policy, &(net_target){ .scheme = "https", .host = "a.example.com", .port = 443 }, NULL)
          .allowed);
  EXPECT(
      !net_policy_may(policy, &(net_target){ .scheme = "https", .host = "no.example.com", .port = 443 }, NULL)
           .allowed);
  EXPECT(
      !net_policy_may(policy, &(net_target){ .scheme = "https", .host = "a.example.com", .port = 80 }, NULL)
           .allowed);
  EXPECT(!net_policy_may(policy, &(net_target){ .scheme = "https", .host = "secret.evil.org", .port = 443 },
                         NULL)
              .allowed);
  net_policy_free(policy);
}

TEST(errors_are_named_with_their_path) {
  static const struct {
    const char *text, *want;
  } cases[] = {
    { "[]", "network: must be an object" },
    { "{\"rule\":[]}", "network: must have the member rules alone" },
    { "{\"rules\":{}}", "network.rules: must be an array of at most 1024 rules" },
    { RULES("3"), "network.rules[0]: must be an object" },
    { RULES("{}"), "network.rules[0].action: must be allow or deny" },
    { RULES("{\"action\":\"deny\"},{\"action\":\"allow\",\"hosts\":\"x\"}"),
      "network.rules[1]: has a member other than action, host, cidr, port, scheme, method, path" },
    { RULES("{\"action\":\"allow\",\"action\":\"deny\"}"),
      "network.rules[0]: has a member that stands twice" },
    { RULES("{\"action\":\"allow\",\"host\":[]}"), "network.rules[0].host: must have 1 to 256 values" },
    { RULES("{\"action\":\"allow\",\"host\":\"a b\"}"),
      "network.rules[0].host: must be a host name, *.suffix or *" },
    { RULES("{\"action\":\"allow\",\"host\":\"*.1.2.3.4\"}"),
      "network.rules[0].host: must be a host name, *.suffix or *" },
    { RULES("{\"action\":\"allow\",\"host\":\"a.*.c\"}"),
      "network.rules[0].host: must be a host name, *.suffix or *" },
    { RULES("{\"action\":\"allow\",\"cidr\":\"10.0.0.1/8\"}"),
      "network.rules[0].cidr: must be a block such as 10.0.0.0/8 without bits behind the prefix, or an address" },
    { RULES("{\"action\":\"allow\",\"port\":0}"),
      "network.rules[0].port: must be a port from 1 to 65535, or a range such as \"8000-8999\"" },
    { RULES("{\"action\":\"allow\",\"port\":\"9-8\"}"),
      "network.rules[0].port: must be a port from 1 to 65535, or a range such as \"8000-8999\"" },
    { RULES("{\"action\":\"allow\",\"port\":\"1-70000\"}"),
      "network.rules[0].port: must be a port from 1 to 65535, or a range such as \"8000-8999\"" },
    { RULES("{\"action\":\"allow\",\"scheme\":\"HTTP\"}"),
      "network.rules[0].scheme: must be a scheme in small letters, such as https" },
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    net_policy *policy = NULL;
    cay_error err = { 0 };
    EXPECT_EQ(parse(cases[i].text, &policy, &err), CAY_INVALID);
    EXPECT(policy == NULL);
    EXPECT_TEXT(err.message, cases[i].want);
  }
}

TEST(hosts_are_compared_in_one_form) {
  static const struct {
    const char *host, *want;
  } cases[] = {
    { "Example.COM", "example.com" },
    { "example.com.", "example.com" },
    { "1.2.3.4", "1.2.3.4" },
    { "[::FFFF:1.2.3.4]", "::ffff:1.2.3.4" },
    { "[0:0::1]", "::1" },
    { "a_b-c.d", "a_b-c.d" },
    { "xn--nxasmq6b", "xn--nxasmq6b" },
    { "1.2.3.4x", "1.2.3.4x" },
  };
  char clean[NET_HOST_MAX + 1];
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    EXPECT(net_host_clean(cases[i].host, strlen(cases[i].host), clean));
    EXPECT_TEXT(clean, cases[i].want);
  }
  static const char *const bad[] = {
    "",    ".",         "a..b", "0x7f.1",    "2130706433", "127.1", "017700000001", "1.2.3.0x4", "a b",
    "a/b", "[1.2.3.4]", "[::1", "a\xc3\xa4", "%31",        "a.0x",  "[fe80::1%1]",  "a.1.",      ".a"
  };
  for (size_t i = 0; i < COUNT_OF(bad); i++) EXPECT(!net_host_clean(bad[i], strlen(bad[i]), clean));
}

/* Property: under any rules without a cidr, an exact address or localhost, nothing special is reached. */
TEST(no_rule_about_names_reaches_what_is_special) {
  static const char *const hosts[] = { "\"*\"", "\"*.a.b\"", "\"x.a.b\"", "[\"x.a.b\",\"*\"]" };
  rng r;
  rng_seed_number(&r, 11);
  for (int i = 0; i < 300; i++) {
    char text[600] = "{\"rules\":[";
    for (int k = 0; k < 4; k++) {
      size_t len = strlen(text);
      (void)snprintf(text + len, sizeof text - len, "%s{\"action\":\"%s\",\"host\":%s,\"port\":\"1-%u\"}",
                     k != 0 ? "," : "", rng_u64(&r) % 4 != 0 ? "allow" : "deny", hosts[rng_u64(&r) % 4],
                     (unsigned)(1 + rng_u64(&r) % 65535));
    }
    strcat(text, "]}");
    net_policy *policy = NULL;
    EXPECT_EQ(parse(text, &policy, NULL), CAY_OK);
    for (int k = 0; k < 200; k++) {
      net_addr addr = { .family = k % 2 != 0 ? 6 : 4 };
      rng_bytes(&r, addr.bytes, addr.family == 6 ? 16 : 4);
      if (k % 4 == 3) memset(addr.bytes, 0, 12);
      net_target target = { .scheme = "http", .host = "x.a.b", .port = (uint16_t)(1 + rng_u64(&r) % 65535) };
      net_verdict v = net_policy_check(policy, &target, &addr);
      if (v.allowed) EXPECT_EQ(net_addr_class(&addr), NET_PUBLIC);
    }
    net_policy_free(policy);
  }
}

/* ---- methods and paths ---- */

#define READ                                                                                                 \
  "{\"action\":\"allow\",\"host\":\"x.org\",\"method\":[\"GET\",\"HEAD\"],\"path\":[\"/v1/\",\"/status\"]}"

static bool request_allowed(const char *rules, const char *method, const char *path) {
  net_policy *policy = NULL;
  EXPECT_EQ(parse(rules, &policy, NULL), CAY_OK);
  net_addr to = { .family = 4, .bytes = { 1, 1, 1, 1 } };
  net_target target = { .scheme = "http", .host = "x.org", .port = 80, .method = method, .path = path };
  bool yes = net_policy_check(policy, &target, &to).allowed;
  net_policy_free(policy);
  return yes;
}

TEST(methods_and_paths_are_conditions) {
  EXPECT(request_allowed(RULES(READ), "GET", "/v1/users"));
  EXPECT(request_allowed(RULES(READ), "HEAD", "/status"));
  EXPECT(request_allowed(RULES(READ), "HEAD", "/status/now"));
  EXPECT(!request_allowed(RULES(READ), "HEAD", "/statusquo"));
  EXPECT(!request_allowed(RULES(READ), "POST", "/v1/users"));
  EXPECT(!request_allowed(RULES(READ), "GET", "/v2/"));
  EXPECT(!request_allowed(RULES(READ), "GET", "/v1"));
}

TEST(what_is_not_seen_fails_closed) {
#define NOT_ADMIN                                                                                            \
  "{\"action\":\"deny\",\"host\":\"x.org\",\"path\":\"/admin\"},{\"action\":\"allow\",\"host\":\"x.org\"}"
  net_policy *policy = NULL;
  net_addr to = { .family = 4, .bytes = { 1, 1, 1, 1 } };
  net_target target = { .host = "x.org", .port = 443, .socket = true };
  EXPECT(!request_allowed(RULES(READ), NULL, NULL));
  EXPECT(!request_allowed(RULES(NOT_ADMIN), NULL, NULL));
  EXPECT(request_allowed(RULES(NOT_ADMIN), "GET", "/public"));
  EXPECT(!request_allowed(RULES(NOT_ADMIN), "GET", "/admin"));
  EXPECT(!request_allowed(RULES(NOT_ADMIN), "GET", NULL)); /* "/admin//../x" has no one form */
  EXPECT_EQ(parse(RULES(NOT_ADMIN), &policy, NULL), CAY_OK);
  EXPECT(net_policy_may(policy, &target, &to).allowed);
  EXPECT(!net_policy_check(policy, &target, &to).allowed);
  net_policy_free(policy);
}

TEST(tcp_is_any_connection_of_a_socket) {
  net_policy *policy = NULL;
  net_addr to = { .family = 4, .bytes = { 1, 1, 1, 1 } };
  EXPECT_EQ(parse(RULES("{\"action\":\"allow\",\"scheme\":\"tcp\"}"), &policy, NULL), CAY_OK);
  EXPECT(net_policy_check(policy, &(net_target){ .host = "x", .port = 1, .socket = true }, &to).allowed);
  EXPECT(net_policy_check(policy, &(net_target){ .scheme = "https", .host = "x", .port = 1, .socket = true },
                          &to)
             .allowed);
  EXPECT(!net_policy_check(policy, &(net_target){ .scheme = "https", .host = "x", .port = 1 }, &to).allowed);
  net_policy_free(policy);
}

TEST(paths_are_compared_in_one_form) {
  static const struct {
    const char *target, *want;
  } cases[] = {
    { "/", "/" },         { "/a/b?c=/../d", "/a/b" }, { "/a/../b", "/b" },     { "/a/./b/.", "/a/b/" },
    { "/%61%2d", "/a-" }, { "/a/b/..", "/a/" },       { "/a/%2e%2E/b", "/b" }, { "/.../a", "/.../a" },
    { "/..a", "/..a" },
  };
  static const char *const bad[] = {
    "",    "a",     "*",     "/..",     "/../a",    "/a/../../b", "/%2f",         "/%5c", "/%00", "/%",
    "/%4", "/%zz",  "/a\\b", "/a b",    "/\t",      "/%252e",     "/a;/b",        "/a#b", "?/a",  "http://x/",
    "//a", "/a//b", "/a//",  "/a/.//b", "/a/..//b", "/a//../b",   "/a/%2e//../b", "//"
  };
  char clean[64];
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    EXPECT(net_path_clean(cases[i].target, strlen(cases[i].target), clean, sizeof clean));
    EXPECT_TEXT(clean, cases[i].want);
  }
  for (size_t i = 0; i < COUNT_OF(bad); i++)
    EXPECT(!net_path_clean(bad[i], strlen(bad[i]), clean, sizeof clean));
  EXPECT(!net_path_clean("/123456789", 10, clean, 10));
  EXPECT(net_path_clean("/12345678", 9, clean, 10));
}

/* ---- texts and presets ---- */

static bool built_allows(const net_policy_parts *parts, const char *host, uint16_t port, const char *addr) {
  net_policy *policy = NULL;
  net_addr to;
  EXPECT_EQ(net_policy_build(parts, &policy, NULL), CAY_OK);
  EXPECT(net_addr_parse(addr, &to));
  net_target target = { .host = host, .port = port, .socket = true };
  bool yes = net_policy_check(policy, &target, &to).allowed;
  net_policy_free(policy);
  return yes;
}

TEST(texts_of_rules) {
  static const struct {
    const char *text, *host;
    uint16_t port;
    const char *addr;
    bool allowed;
  } cases[] = {
    { "example.com", "example.com", 80, "1.1.1.1", true },
    { "example.com", "www.example.com", 80, "1.1.1.1", false },
    { "Example.COM.:443", "example.com", 443, "1.1.1.1", true },
    { "example.com:443", "example.com", 80, "1.1.1.1", false },
    { "*.example.com:8000-8010", "a.example.com", 8010, "1.1.1.1", true },
    { "*.example.com:8000-8010", "a.example.com", 8011, "1.1.1.1", false },
    { "*", "a", 1, "1.1.1.1", true },
    { "*:443", "a", 80, "1.1.1.1", false },
    { "*", "a", 1, "10.0.0.1", false },
    { "10.0.0.0/8", "a", 1, "10.0.0.1", true },
    { "10.0.0.0/8:22", "10.0.0.1", 22, "10.0.0.1", true },
    { "127.0.0.1:8080", "127.0.0.1", 8080, "127.0.0.1", true },
    { "127.0.0.1:8080", "a.test", 8080, "127.0.0.1", true },
    { "127.0.0.1:8080", "127.0.0.1", 8081, "127.0.0.1", false },
    { "localhost", "localhost", 1, "::1", true },
    { "[::1]:80", "::1", 80, "::1", true },
    { "::1", "::1", 80, "::1", true },
    { "[fd00::/8]:80", "fd00::1", 80, "fd00::1", true },
  };
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const char *allow[] = { cases[i].text, NULL };
    bool yes =
        built_allows(&(net_policy_parts){ .allow = allow }, cases[i].host, cases[i].port, cases[i].addr);
    if (yes != cases[i].allowed)
      test_fail_text(__FILE__, __LINE__, cases[i].text, yes ? "refused" : "allowed", cases[i].host);
  }
}

TEST(texts_that_are_no_rules_are_errors) {
  static const char *const bad[] = { "",           ":80",    "a b",       "a:0",      "a:70000",
                                     "a:1-",       "a:9-8",  "a:x",       "http://a", "*.1.2.3.4",
                                     "10.0.0.1/8", "[a]:80", "[1.2.3.4]", "a:80:80",  "0x7f.1",
                                     "**",         "*a",     "*.",        "a/b",      "2130706433" };
  for (size_t i = 0; i < COUNT_OF(bad); i++) {
    net_policy *policy = NULL;
    cay_error err = { 0 };
    const char *allow[] = { bad[i], NULL };
    cay_status status = net_policy_build(&(net_policy_parts){ .allow = allow }, &policy, &err);
    if (status != CAY_INVALID || err.message[0] == '\0')
      test_fail_text(__FILE__, __LINE__, "taken for a rule", "an error", bad[i]);
  }
}

TEST(denials_stand_before_what_is_allowed) {
  const char *deny[] = { "bad.example.com", NULL }, *allow[] = { "*.example.com", NULL };
  net_policy_parts parts = { .deny = deny, .allow = allow };
  EXPECT(!built_allows(&parts, "bad.example.com", 443, "1.1.1.1"));
  EXPECT(built_allows(&parts, "good.example.com", 443, "1.1.1.1"));
}

TEST(presets) {
  EXPECT(built_allows(&(net_policy_parts){ .preset = "all-public" }, "a.org", 25, "1.1.1.1"));
  EXPECT(!built_allows(&(net_policy_parts){ .preset = "all-public" }, "a.org", 25, "192.168.1.1"));
  EXPECT(built_allows(&(net_policy_parts){ .preset = "package-registries" }, "pypi.org", 443, "1.1.1.1"));
  EXPECT(!built_allows(&(net_policy_parts){ .preset = "package-registries" }, "pypi.org", 80, "1.1.1.1"));
  EXPECT(!built_allows(&(net_policy_parts){ .preset = "package-registries" }, "a.org", 443, "1.1.1.1"));
  EXPECT(!built_allows(&(net_policy_parts){ .preset = "none" }, "a.org", 443, "1.1.1.1"));
  net_policy *policy = NULL;
  cay_error err = { 0 };
  EXPECT_EQ(net_policy_build(&(net_policy_parts){ .preset = "public" }, &policy, &err), CAY_INVALID);
  EXPECT_TEXT(err.message, "no network preset \"public\": there are none, package-registries, all-public");
}

/* ---- the index ---- */

/* Property: the rule that decides is the first that decides when it stands alone. */
TEST(the_index_finds_the_first_rule_that_matches) {
  static const char *const hosts[] = { "\"*\"", "\"*.b.c\"", "\"a.b.c\"", "[\"*.c\",\"x\"]", "\"a.b\"" };
  static const char *const rest[] = { "", ",\"cidr\":\"1.0.0.0/8\"",
                                      ",\"cidr\":[\"2.0.0.0/8\",\"2600::/16\"]",
                                      ",\"port\":[80,\"1000-2000\"]" };
  static const char *const asked[] = { "a.b.c", "b.c", "x", "c", "z.a.b.c", "a.b" };
  static const char *const addrs[] = { "1.1.1.1", "2.2.2.2", "2600::1", "9.9.9.9" };
  static const uint16_t ports[] = { 80, 443, 1500 };
  rng r;
  rng_seed_number(&r, 7);
  for (int i = 0; i < 200; i++) {
    char text[2000] = "", one[12][160];
    net_policy *all = NULL, *alone[12];
    for (int k = 0; k < 12; k++) {
      bool no_host = rng_u64(&r) % 4 == 0;
      (void)snprintf(one[k], sizeof one[k], "{\"action\":\"%s\"%s%s%s}", rng_u64(&r) % 2 ? "allow" : "deny",
                     no_host ? "" : ",\"host\":", no_host ? "" : hosts[rng_u64(&r) % 5],
                     rest[rng_u64(&r) % 4]);
      char wrapped[2100];
      (void)snprintf(wrapped, sizeof wrapped, RULES("%s"), one[k]);
      EXPECT_EQ(parse(wrapped, &alone[k], NULL), CAY_OK);
      (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", k != 0 ? "," : "", one[k]);
    }
    char whole[2100];
    (void)snprintf(whole, sizeof whole, RULES("%s"), text);
    EXPECT_EQ(parse(whole, &all, NULL), CAY_OK);
    for (int k = 0; k < 40; k++) {
      net_addr addr;
      EXPECT(net_addr_parse(addrs[rng_u64(&r) % 4], &addr));
      net_target t = { .host = asked[rng_u64(&r) % 6], .port = ports[rng_u64(&r) % 3], .socket = true };
      size_t first = 0;
      while (first < 12 && net_policy_check(alone[first], &t, &addr).rule == SIZE_MAX) first++;
      size_t found = net_policy_check(all, &t, &addr).rule;
      EXPECT_EQ(found == SIZE_MAX ? 12 : found, first);
    }
    net_policy_free(all);
    for (int k = 0; k < 12; k++) net_policy_free(alone[k]);
  }
}

TEST(no_memory_leaves_no_half_read_policy) {
  AT_EVERY_FAULT {
    net_policy *policy = NULL;
    cay_status status = parse(RULES(PORTS "," DENY "," TEN), &policy, NULL);
    EXPECT(status == CAY_OK ? policy != NULL : status == CAY_NO_MEMORY && policy == NULL);
    net_policy_free(policy);
  }
}
