/* ssrf_test.c - no spelling of a special address passes a policy that names no special address. */
#include "net/policy.h"

#include "test.h"

static const char *const forms[] = {
#define F(form) form,
#include "../../net/ssrf.def"
#undef F
};

static net_policy *public_policy(void) {
  net_policy *policy = NULL;
  EXPECT_EQ(net_policy_build(&(net_policy_parts){ .preset = "all-public" }, &policy, NULL), CAY_OK);
  return policy;
}

TEST(the_list_of_spellings_is_long) { EXPECT(COUNT_OF(forms) >= 160); }

/* Either it is no host, or it is an address that is refused. */
TEST(no_spelling_of_a_special_address_is_allowed) {
  net_policy *policy = public_policy();
  for (size_t i = 0; i < COUNT_OF(forms); i++) {
    char host[NET_HOST_MAX + 1];
    net_addr addr;
    if (!net_host_clean(forms[i], strlen(forms[i]), host)) continue;
    if (!net_addr_parse(host, &addr))
      test_fail_text(__FILE__, __LINE__, "taken for a name", "no host", forms[i]);
    net_target target = { .host = host, .port = 80, .socket = true };
    if (net_policy_check(policy, &target, &addr).allowed)
      test_fail_text(__FILE__, __LINE__, "allowed", "refused", forms[i]);
    if (net_policy_may(policy, &target, NULL).allowed)
      test_fail_text(__FILE__, __LINE__, "asked for", "refused", forms[i]);
  }
  net_policy_free(policy);
}

/* A rule's text is read by the same parser. */
TEST(no_spelling_becomes_a_rule_for_another_host) {
  for (size_t i = 0; i < COUNT_OF(forms); i++) {
    net_policy *policy = NULL;
    const char *allow[] = { forms[i], NULL };
    if (net_policy_build(&(net_policy_parts){ .allow = allow }, &policy, NULL) != CAY_OK) continue;
    net_addr public = { .family = 4, .bytes = { 8, 8, 8, 8 } };
    net_target target = { .host = "example.com", .port = 80, .socket = true };
    EXPECT(!net_policy_check(policy, &target, &public).allowed);
    net_policy_free(policy);
  }
}
