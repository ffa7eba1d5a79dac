/** @file math.c  Functions that the deterministic family lacks. */
#include "ad/math.h"

#if defined(__AVX2__)
#include <immintrin.h>
__m256d Sleef_finz_expd4_u10avx2(__m256d);
#endif

void fadi_exp_all(size_t n, double *x)
{
    size_t i = 0;
#if defined(__AVX2__)
    for (; i + 4 <= n; i += 4)
        _mm256_storeu_pd(x + i, Sleef_finz_expd4_u10avx2(_mm256_loadu_pd(x + i)));
#endif
    for (; i < n; i++)
        x[i] = fadi_exp(x[i]);
}

double fadi_log1pexp_both(double x, double *partial)
{
    double e = fadi_exp(-fabs(x)); /* in [0, 1]: neither overflow nor cancellation below */
    *partial = (x < 0.0 ? e : 1.0) / (1.0 + e);
    return (x > 0.0 ? x : 0.0) + fadi_log1p_unit(e);
}

double fadi_log1pexp(double x)
{
    return (x > 0.0 ? x : 0.0) + fadi_log1p_unit(fadi_exp(-fabs(x)));
}

double fadi_logistic(double x)
{
    double e = fadi_exp(-fabs(x));
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

double fadi_sech2(double x)
{
    double e = fadi_exp(-2.0 * fabs(x));
    return 4.0 * e / ((1.0 + e) * (1.0 + e));
}

double fadi_gauss(double x)
{
    const double two_over_sqrt_pi = 0x1.20dd750429b6dp+0;
    double h = x * x;
    if (h > 800.0)
        return 0.0;
    /* the rounding error of x^2 would be magnified x^2 times */
    return two_over_sqrt_pi * fadi_exp(-h) * (1.0 - fma(x, x, -h));
}

/* psi(x) for x >= 10: log x - 1/(2x) - sum of B_2k / (2k x^2k), seven terms; the eighth is below 5e-17 */
static double digamma_far(double x)
{
    static const double c[] = {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12};
    double z = 1.0 / (x * x), s = c[6];
    for (int i = 5; i >= 0; i--)
        s = fma(s, z, c[i]);
    return fadi_log(x) - 0.5 / x - z * s;
}

double fadi_digamma(double x)
{
    const double pi = 0x1.921fb54442d18p+1;
    double reflected = 0.0, s = 0.0;
    if (x <= 0.0) {
        if (x == floor(x))
            return NAN;
        reflected = pi * fadi_cospi(x) / fadi_sinpi(x); /* psi(x) = psi(1 - x) - pi cot(pi x) */
        x = 1.0 - x;
    }
    if (x == INFINITY)
        return x;
    for (; x < 10.0; x += 1.0) /* psi(x) = psi(x + 1) - 1/x */
        s += 1.0 / x;
    return digamma_far(x) - s - reflected;
}

/* psi'(x) for x >= 15: 1/x + 1/(2x^2) + sum of B_2k / x^(2k+1), seven terms; the eighth is below 1e-18 of it.
 * Source: Abramowitz and Stegun, 6.4.12; 6.4.6 and 6.4.7 below */
static double trigamma_far(double x)
{
    static const double c[] = {1.0 / 6, -1.0 / 30, 1.0 / 42, -1.0 / 30, 5.0 / 66, -691.0 / 2730, 7.0 / 6};
    double z = 1.0 / (x * x), s = c[6];
    for (int i = 5; i >= 0; i--)
        s = fma(s, z, c[i]);
    return (1.0 + 0.5 / x + z * s) / x;
}

double fadi_trigamma(double x)
{
    const double pi = 0x1.921fb54442d18p+1;
    double s = 0.0;
    if (x <= 0.0) { /* psi'(x) = (pi / sin(pi x))^2 - psi'(1 - x) */
        double c = pi / fadi_sinpi(x);
        return x == floor(x) ? (double)NAN : c * c - fadi_trigamma(1.0 - x);
    }
    for (; x < 15.0; x += 1.0) /* psi'(x) = psi'(x + 1) + 1/x^2 */
        s += 1.0 / (x * x);
    return x == INFINITY ? 0.0 : s + trigamma_far(x);
}

double fadi_pow_base(double x, double y)
{
    return y == 0.0 ? 0.0 : y * fadi_pow(x, y - 1.0);
}

double fadi_atan2_partial(double u, double x, double y)
{
    double r = fadi_hypot(x, y);
    return r == 0.0 ? 0.0 : u / r / r; /* in two steps: r^2 could overflow or vanish */
}
