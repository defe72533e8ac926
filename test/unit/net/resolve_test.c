/* resolve_test.c - names become addresses in time, or an error. */
#include "net/resolve.h"

#include "base/clock.h"
#include "test.h"

static int64_t soon(void) { return clock_mono_ns() + 20 * NS_PER_SEC; }

static cay_status fake(void *ctx, const char *host, int64_t deadline_ns, net_addrs *out, cay_error *err) {
  (void)deadline_ns, (void)err;
  ++*(int *)ctx;
  if (strcmp(host, "x.org") != 0) return CAY_NOT_FOUND;
  out->list[out->count++] = (net_addr){ 4, { 9, 9, 9, 9 } };
  return CAY_OK;
}

TEST(an_address_is_not_asked_for) {
  int asked = 0;
  net_addrs addrs = { 0 };
  net_resolver resolver = { fake, &asked };
  EXPECT_EQ(net_resolve(&resolver, "::1", soon(), NULL, &addrs, NULL), CAY_OK);
  EXPECT_EQ(addrs.count, 1);
  EXPECT_EQ(addrs.list[0].family, 6);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(net_resolve(&resolver, "x.org", soon(), NULL, &addrs, NULL), CAY_OK);
  EXPECT_EQ(addrs.list[0].bytes[0], 9);
  EXPECT_EQ(net_resolve(&resolver, "y.org", soon(), NULL, &addrs, NULL), CAY_NOT_FOUND);
  EXPECT_EQ(asked, 2);
}

TEST(the_host_knows_localhost_and_not_everything) {
  net_addrs addrs = { 0 };
  EXPECT_EQ(net_resolve(NULL, "localhost", soon(), NULL, &addrs, NULL), CAY_OK);
  EXPECT(addrs.count >= 1);
  EXPECT_EQ(net_addr_class(&addrs.list[0]), NET_LOOPBACK);
}

TEST(a_deadline_that_has_passed_is_a_timeout_or_an_answer) {
  net_addrs addrs = { 0 };
  cay_status status = net_resolve(NULL, "localhost", 0, NULL, &addrs, NULL);
  EXPECT(status == CAY_TIMEOUT || status == CAY_OK);
}

TEST(no_memory_is_said) {
  AT_EVERY_FAULT {
    net_addrs addrs = { 0 };
    cay_status status = net_resolve(NULL, "localhost", soon(), NULL, &addrs, NULL);
    EXPECT(status == CAY_OK || status == CAY_NO_MEMORY);
  }
}
