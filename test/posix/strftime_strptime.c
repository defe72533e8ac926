/* strftime_strptime - strftime(3), strptime(3), gmtime(3): each conversion, weeks at the turn of the year,
 * and back. */
#include "posix.h"

static void show(time_t t) {
  struct tm tm;
  char text[256];
  gmtime_r(&t, &tm);
  strftime(text, sizeof text,
           "%a %A %b %B %d %e %H %I %j %m %M %p %S %U %V %W %G %g %u %w %y %Y %C %D %F %R %T %h %%", &tm);
  say("%lld: %s\n", (long long)t, text);
}

int main(void) {
  static const time_t times[] = { 0,          951782400,  1230768000, 1293839999, 1325376000,
                                  1609459199, 1609459200, 1640995200, 4294967296 };
  for (size_t i = 0; i < COUNT_OF(times); i++) show(times[i]);
  struct tm tm = { 0 };
  char text[64];
  const char *rest = strptime("2024-02-29 23:59:58 rest", "%Y-%m-%d %H:%M:%S", &tm);
  say("%d-%d-%d %d:%d:%d, rest \"%s\"\n", tm.tm_year, tm.tm_mon, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
      rest);
  SHOW(timegm(&tm));
  memset(&tm, 0, sizeof tm);
  IS(strptime("Mon Mar  5 2018", "%a %b %d %Y", &tm) != NULL);
  say("%d %d %d\n", tm.tm_mon, tm.tm_mday, tm.tm_year);
  IS(strptime("11:30 PM", "%I:%M %p", &tm) != NULL);
  SHOW(tm.tm_hour);
  IS(strptime("13-45", "%m-%d", &tm) == NULL);
  SHOW(strftime(text, 3, "%Y", &tm));
  time_t far = 253402300800;
  SHOW(gmtime(&far)->tm_year);
  TEXT(asctime(&(struct tm){ .tm_year = 99, .tm_mon = 11, .tm_mday = 31, .tm_wday = 5 }));
  IS(difftime(10, 4) == 6.0);
  return 0;
}
