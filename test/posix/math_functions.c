/* math_functions - math(7): exact results where the standard asks for them, and the special values. */
#include "posix.h"

#include <fenv.h>
#include <math.h>

int main(void) {
  volatile double zero = 0, one = 1, two = 2;
  say("%.17g %.17g %.17g\n", sqrt(two), cbrt(27.0), hypot(3, 4));
  say("%g %g %g %g %g\n", floor(-1.5), ceil(-1.5), trunc(-1.5), round(-1.5), rint(2.5));
  say("%ld %lld %g\n", lround(-2.5), llrint(3.5), nearbyint(0.5));
  say("%g %g %g\n", fmod(7.5, -2), remainder(7.5, 2), fma(2, 3, 4));
  double whole;
  int power;
  say("%g", modf(-3.75, &whole));
  say(" %g\n", whole);
  say("%g", frexp(48, &power));
  say(" %d %g %d\n", power, ldexp(0.75, 6), ilogb(1000));
  say("%d %d %d %d\n", isnan(zero / zero) != 0, isinf(one / zero) != 0, signbit(-zero) != 0,
      isfinite(one) != 0);
  say("%g %g %g %g\n", pow(two, 10), pow(zero, 0), pow(-2, 3), exp2(-1));
  say("%g %g %g %g\n", log2(8), log10(1000), log1p(0), expm1(0));
  say("%.10g %.10g %.10g %.10g\n", sin(one), cos(one), tan(one), atan2(one, -1));
  say("%.10g %.10g %.10g %.10g\n", exp(one), log(two), sinh(one), tanh(one));
  say("%.10g %.10g %.10g\n", tgamma(5.5), lgamma(10), erf(0.5));
  say("%g %g %g\n", fmax(NAN, 1), fmin(2, 1), fdim(3, 5));
  say("%g %.17g %g\n", nextafter(0, 1), nextafter(1, 2), copysign(3, -zero));
  say("%d %d %d\n", isinf(log(zero)) != 0, isnan(sqrt(-one)) != 0, isnan(log(-one)) != 0);
  say("%d %d\n", fpclassify(5e-324) == FP_SUBNORMAL, fpclassify(zero) == FP_ZERO);
  SHOW(fegetround() == FE_TONEAREST);
  volatile double large = 1e300;
  volatile int back = (int)-2.9;
  volatile float single = 16777217.0f;
  say("%g %d %.1f %lld %llu\n", large * large, back, (double)single, (long long)-1e18,
      (unsigned long long)1.5e19);
  div_t d = div(-7, 2);
  lldiv_t l = lldiv(7, -2);
  say("%d %d %lld %lld\n", d.quot, d.rem, l.quot, l.rem);
  srand(1);
  int in_range = 0;
  for (int i = 0; i < 1000; i++) in_range += rand() >= 0;
  SHOW(in_range);
  srand48(42);
  say("%.10f", drand48());
  say(" %ld\n", lrand48());
  return 0;
}
