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
  net_target target = { scheme, host, port };
  net_verdict v = net_policy_check(policy, &target, &to);
  if (v.allowed) EXPECT(net_policy_may(policy, &target));
  net_policy_free(policy);
  return v.allowed;
}

#define RULES(text) "{\"rules\":[" text "]}"
#define ALL RULES("{\"action\":\"allow\"}")

TEST(without_a_rule_the_answer_is_no) {
  net_addr to = { 4, { 1, 1, 1, 1 } };
  net_target target = { "https", "example.com", 443 };
  EXPECT(!net_policy_check(NULL, &target, &to).allowed);
  EXPECT(!net_policy_may(NULL, &target));
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
  EXPECT(net_policy_may(policy, &(net_target){ "https", "a.example.com", 443 }));
  EXPECT(!net_policy_may(policy, &(net_target){ "https", "no.example.com", 443 }));
  EXPECT(!net_policy_may(policy, &(net_target){ "https", "a.example.com", 80 }));
  EXPECT(!net_policy_may(policy, &(net_target){ "https", "secret.evil.org", 443 }));
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
      "network.rules[1]: has a member other than action, host, cidr, port, scheme" },
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
      net_target target = { "http", "x.a.b", (uint16_t)(1 + rng_u64(&r) % 65535) };
      net_verdict v = net_policy_check(policy, &target, &addr);
      if (v.allowed) EXPECT_EQ(net_addr_class(&addr), NET_PUBLIC);
    }
    net_policy_free(policy);
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
