/* printf_float - printf(3): doubles to text, exactly rounded, in every form. */
#include "posix.h"

#include <float.h>
#include <math.h>

int main(void) {
  static const double values[] = { 0,
                                   1,
                                   -1.5,
                                   0.1,
                                   1e21,
                                   123456789.123456789,
                                   1e-5,
                                   2.5,
                                   3.5,
                                   1e100,
                                   1.7976931348623157e308,
                                   0.5,
                                   9.9999999,
                                   100000,
                                   1000000,
                                   1e15,
                                   1e16,
                                   1.0 / 3,
                                   2.0 / 3,
                                   1e22,
                                   1e23,
                                   0.30000000000000004 };
  for (size_t i = 0; i < COUNT_OF(values); i++) {
    double v = values[i];
    say("%f %e %g | %.0f %.3e %.17g | %a\n", v, v, v, v, v, v, v);
  }
  say("%e %.17g %g\n", 5e-324, 5e-324, 2.2250738585072009e-308);
  say("[%10.2f] [%-10.2f] [%+.1f] [% .1f] [%010.3f] [%#.0f] [%#g]\n", 3.14159, 3.14159, 2.25, 2.25, -3.5, 4.0,
      1.0);
  say("[%f] [%F] [%e] [%g] [%f] [%8.2f] [%-8g]\n", (double)INFINITY, (double)INFINITY, -(double)INFINITY,
      (double)NAN, -0.0, (double)INFINITY, -(double)INFINITY);
  say("[%.20f] [%.30g] [%.50f]\n", 0.1, 0.1, 1.0 / 1024);
  say("[%.1f %.1f %.1f %.1f] [%.0f %.0f %.0f %.0f]\n", 0.25, 0.75, 0.35, 0.45, 0.5, 1.5, 2.5, 3.5);
  say("[%g %g %g %g] [%G %E]\n", 1e-4, 1e-5, 123456.0, 1234567.0, 1e-10, 1e10);
  say("[%.2a] [%.0a] [%a]\n", 1.999, 1.5, DBL_MIN);
  say("[%Lf] [%.3Lg]\n", 1.25L, 1e30L);
  return 0;
}
