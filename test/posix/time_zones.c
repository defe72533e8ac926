/* time_zones - tzset(3), localtime(3), mktime(3), strftime(3): POSIX rules and zone files, over the changes
 * of the clock. */
#include "posix.h"

static void show(const char *zone, time_t t) {
  struct tm tm;
  char text[64];
  setenv("TZ", zone, 1);
  tzset();
  localtime_r(&t, &tm);
  strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z %z", &tm);
  bool summer = tm.tm_isdst > 0;
  tm.tm_isdst = -1;
  say("%-32s %11lld: %s, dst %d, back %s\n", zone, (long long)t, text, summer,
      mktime(&tm) == t ? "equal" : "different");
}

int main(void) {
  static const char *const zones[] = { "UTC",
                                       "UTC0",
                                       "CET-1CEST,M3.5.0,M10.5.0/3",
                                       "EST5EDT,M3.2.0,M11.1.0",
                                       "<+0530>-5:30",
                                       "NZST-12NZDT,M9.5.0,M4.1.0/3",
                                       "Europe/Berlin",
                                       "America/New_York",
                                       "Asia/Tokyo",
                                       ":Australia/Sydney",
                                       "Asia/Kathmandu" };
  static const time_t times[] = { 0,          86399,      1000000000, 1711846799,
                                  1711846800, 1700000000, 2000000000, 4102444800 };
  for (size_t z = 0; z < COUNT_OF(zones); z++)
    for (size_t t = 0; t < COUNT_OF(times); t++) show(zones[z], times[t]);
  show("Europe/Berlin", -1000000000);
  show("America/New_York", -1500000000);
  struct tm tm = { .tm_year = 124, .tm_mon = 13, .tm_mday = 35, .tm_hour = 25, .tm_min = -1 };
  setenv("TZ", "UTC", 1);
  tzset();
  SHOW(mktime(&tm));
  say("%d-%d-%d %d:%d, day %d of the week, %d of the year\n", tm.tm_year, tm.tm_mon, tm.tm_mday, tm.tm_hour,
      tm.tm_min, tm.tm_wday, tm.tm_yday);
  SHOW(timegm(&tm));
  return 0;
}
