/** @file math.h  The elementary functions: the same bits from every machine that has a fused multiply-add.
 *
 * SLEEF's deterministic family, whose scalar and vector variants agree on x86-64 and AArch64; libm differs between
 * versions and machines. What the family gets wrong is repaired here, and what it lacks is built from it.
 * The prototypes are our own because sleef.h shows them only to some settings of the compiler. */
#ifndef FADI_MATH_H
#define FADI_MATH_H

#include <math.h>
#include <stddef.h>

#ifdef __FAST_MATH__
#error "-ffast-math would change results"
#endif

#define FADI_SLEEF1(name, symbol)                                                                             \
    double symbol(double);                                                                                    \
    static inline double fadi_##name(double x)                                                                \
    {                                                                                                         \
        return symbol(x);                                                                                     \
    }
#define FADI_SLEEF2(name, symbol)                                                                             \
    double symbol(double, double);                                                                            \
    static inline double fadi_##name(double x, double y)                                                      \
    {                                                                                                         \
        return symbol(x, y);                                                                                  \
    }
FADI_SLEEF1(exp, Sleef_finz_expd1_u10purecfma)
FADI_SLEEF1(expm1, Sleef_finz_expm1d1_u10purecfma)
FADI_SLEEF1(log, Sleef_finz_logd1_u10purecfma)
FADI_SLEEF1(log1p_raw, Sleef_finz_log1pd1_u10purecfma)
FADI_SLEEF1(sin, Sleef_finz_sind1_u10purecfma)
FADI_SLEEF1(cos, Sleef_finz_cosd1_u10purecfma)
FADI_SLEEF1(tan, Sleef_finz_tand1_u10purecfma)
FADI_SLEEF1(asin, Sleef_finz_asind1_u10purecfma)
FADI_SLEEF1(acos, Sleef_finz_acosd1_u10purecfma)
FADI_SLEEF1(atan, Sleef_finz_atand1_u10purecfma)
FADI_SLEEF1(sinh_raw, Sleef_finz_sinhd1_u10purecfma)
FADI_SLEEF1(cosh_raw, Sleef_finz_coshd1_u10purecfma)
FADI_SLEEF1(tanh, Sleef_finz_tanhd1_u10purecfma)
FADI_SLEEF1(cbrt, Sleef_finz_cbrtd1_u10purecfma)
FADI_SLEEF1(erf, Sleef_finz_erfd1_u10purecfma)
FADI_SLEEF1(erfc, Sleef_finz_erfcd1_u15purecfma)
FADI_SLEEF1(lgamma, Sleef_finz_lgammad1_u10purecfma)
FADI_SLEEF1(tgamma_raw, Sleef_finz_tgammad1_u10purecfma)
FADI_SLEEF1(sinpi, Sleef_finz_sinpid1_u05purecfma)
FADI_SLEEF1(cospi, Sleef_finz_cospid1_u05purecfma)
FADI_SLEEF2(pow, Sleef_finz_powd1_u10purecfma)
FADI_SLEEF2(atan2, Sleef_finz_atan2d1_u10purecfma)
FADI_SLEEF2(hypot, Sleef_finz_hypotd1_u05purecfma)
#undef FADI_SLEEF1
#undef FADI_SLEEF2

/** The scalar and vector variants disagree on the sign of a zero result: it is +. */
static inline double fadi_tgamma(double x)
{
    return fadi_tgamma_raw(x) + 0.0;
}

/** The family gives inf from 2^1019 on; there log(1 + x) is log x. */
static inline double fadi_log1p(double x)
{
    return x > 0x1p1000 ? fadi_log(x) : fadi_log1p_raw(x);
}

/** log(1 + e) for e in [0, 1], within 1.5 ulp: the logarithm of the rounded sum, and what rounding took away times the
 * derivative, for which 1 - e / 2 is close enough to 1 / (1 + e). Half the time of fadi_log1p. */
static inline double fadi_log1p_unit(double e)
{
    double u = 1.0 + e;
    return fadi_log(u) + (e - (u - 1.0)) * (1.0 - 0.5 * e);
}

/** e^|x| / 2 for |x| > 709, where e^|x| may overflow and the half of it does not; within 3 ulp. */
static inline double fadi_half_exp(double x)
{
    double root = fadi_exp(0.5 * fabs(x));
    return 0.5 * root * root;
}

static inline double fadi_sinh(double x)
{
    return fabs(x) > 709.0 ? copysign(fadi_half_exp(x), x) : fadi_sinh_raw(x);
}

static inline double fadi_cosh(double x)
{
    return fabs(x) > 709.0 ? fadi_half_exp(x) : fadi_cosh_raw(x);
}

/** -1, 0, 1 or NaN. */
static inline double fadi_sign(double x)
{
    return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x * 0.0;
}

/** e^(x - peak) for x <= peak: 1 for equals, infinite ones too, and 0 where the peak is -inf. */
static inline double fadi_soft(double x, double peak)
{
    return peak == (double)-INFINITY ? 0.0 : x == peak ? 1.0 : fadi_exp(x - peak);
}

/** A power of two by which numbers up to x are brought to where their squares neither overflow nor vanish. */
static inline double fadi_scale(double x)
{
    return x > 0x1p500 ? 0x1p-600 : x < 0x1p-450 && x > 0.0 ? 0x1p600 : 1.0;
}

/** x[i] = e^x[i], in vectors where there are any: SLEEF's family has the same bits in both. */
void fadi_exp_all(size_t n, double *x);
double fadi_log1pexp(double x);
/** fadi_log1pexp and its derivative, for the price of one exponential. */
double fadi_log1pexp_both(double x, double *partial);
/** 1 / (1 + e^-x) */
double fadi_logistic(double x);
/** 1 / cosh(x)^2; 1 - tanh^2 would cancel. */
double fadi_sech2(double x);
/** 2 / sqrt(pi) * e^(-x^2) */
double fadi_gauss(double x);
/** Derivative of lgamma; NaN at its poles. */
double fadi_digamma(double x);
/** Derivative of digamma; NaN at its poles. */
double fadi_trigamma(double x);
/** Derivative of x^y with respect to x. */
double fadi_pow_base(double x, double y);
/** u / (x^2 + y^2), 0 at the origin. */
double fadi_atan2_partial(double u, double x, double y);

#endif
