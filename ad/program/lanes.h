/** @file lanes.h  Vectors of one machine, and the elementary functions on them.
 *
 * FADI_WIDTH doubles to a vector: 2 in the generic build (on AArch64 the machine's own width), 4 with AVX2, 8 with AVX-512.
 * Each lane computes what the scalar functions of math.h compute, to the bit: the deterministic family has the same function
 * in all widths, and what is repaired or built from it there is done here in the same way. */
#ifndef FADI_PROGRAM_LANES_H
#define FADI_PROGRAM_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ad/op.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define FADI_VECTOR_BYTES (8 * FADI_WIDTH)
typedef double vec __attribute__((vector_size(FADI_VECTOR_BYTES)));
typedef int64_t ivec __attribute__((vector_size(FADI_VECTOR_BYTES)));

#define INLINE static inline __attribute__((always_inline))

/* Slots are aligned; other memory is copied. */
INLINE vec load(const double *p)
{
    return *(const vec *)(const void *)p;
}

INLINE void store(double *p, vec v)
{
    *(vec *)(void *)p = v;
}

INLINE vec splat(double x)
{
#if FADI_WIDTH == 8
    return (vec){x, x, x, x, x, x, x, x};
#elif FADI_WIDTH == 4
    return (vec){x, x, x, x};
#else
    return (vec){x, x};
#endif
}

INLINE vec choose(ivec m, vec a, vec b)
{
    return (vec)((m & (ivec)a) | (~m & (ivec)b));
}

INLINE vec magnitude(vec x)
{
    return (vec)((ivec)x & INT64_MAX);
}

INLINE bool any(ivec m)
{
    int64_t all = 0;
    for (int i = 0; i < FADI_WIDTH; i++)
        all |= m[i];
    return all != 0;
}

INLINE vec fused(vec a, vec b, vec c)
{
#if FADI_WIDTH == 8
    return (vec)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif FADI_WIDTH == 4
    return (vec)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__FMA__)
    return (vec)_mm_fmadd_pd((__m128d)a, (__m128d)b, (__m128d)c);
#elif defined(__aarch64__)
    return (vec)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#else
    vec r;
    for (int i = 0; i < FADI_WIDTH; i++)
        r[i] = fma(a[i], b[i], c[i]);
    return r;
#endif
}

INLINE vec root(vec x)
{
#if FADI_WIDTH == 8
    return (vec)_mm512_sqrt_pd((__m512d)x);
#elif FADI_WIDTH == 4
    return (vec)_mm256_sqrt_pd((__m256d)x);
#elif defined(__aarch64__)
    return (vec)vsqrtq_f64((float64x2_t)x);
#else
    vec r;
    for (int i = 0; i < FADI_WIDTH; i++)
        r[i] = sqrt(x[i]);
    return r;
#endif
}

/* A function of math.h, lane by lane: where vectors do not pay, or for the few lanes that need a repair. */
#define FADI_EACH(name)                                                                                                \
    static __attribute__((noinline)) vec each_##name(vec x)                                                            \
    {                                                                                                                  \
        for (int i = 0; i < FADI_WIDTH; i++)                                                                           \
            x[i] = fadi_##name(x[i]);                                                                                  \
        return x;                                                                                                      \
    }
#define FADI_EACH2(name)                                                                                               \
    static __attribute__((noinline)) vec each_##name(vec x, vec y)                                                     \
    {                                                                                                                  \
        for (int i = 0; i < FADI_WIDTH; i++)                                                                           \
            x[i] = fadi_##name(x[i], y[i]);                                                                            \
        return x;                                                                                                      \
    }

/* The family's functions under their names in math.h. */
#if FADI_WIDTH == 8
#define FADI_FAMILY(name, ulp) Sleef_finz_##name##d8_u##ulp##avx512f
#elif FADI_WIDTH == 4
#define FADI_FAMILY(name, ulp) Sleef_finz_##name##d4_u##ulp##avx2
#elif defined(__aarch64__)
#define FADI_FAMILY(name, ulp) Sleef_finz_##name##d2_u##ulp##advsimd
#endif
#ifdef FADI_FAMILY
#define FADI_LANES1(name, symbol, ulp)                                                                                 \
    vec FADI_FAMILY(symbol, ulp)(vec);                                                                                 \
    INLINE vec v_##name(vec x)                                                                                         \
    {                                                                                                                  \
        return FADI_FAMILY(symbol, ulp)(x);                                                                            \
    }
#define FADI_LANES2(name, symbol, ulp)                                                                                 \
    vec FADI_FAMILY(symbol, ulp)(vec, vec);                                                                            \
    INLINE vec v_##name(vec x, vec y)                                                                                  \
    {                                                                                                                  \
        return FADI_FAMILY(symbol, ulp)(x, y);                                                                         \
    }
#else
#define FADI_LANES1(name, symbol, ulp)                                                                                 \
    FADI_EACH(name)                                                                                                    \
    INLINE vec v_##name(vec x)                                                                                         \
    {                                                                                                                  \
        return each_##name(x);                                                                                         \
    }
#define FADI_LANES2(name, symbol, ulp)                                                                                 \
    FADI_EACH2(name)                                                                                                   \
    INLINE vec v_##name(vec x, vec y)                                                                                  \
    {                                                                                                                  \
        return each_##name(x, y);                                                                                      \
    }
#endif
FADI_LANES1(exp, exp, 10)
FADI_LANES1(expm1, expm1, 10)
FADI_LANES1(log, log, 10)
FADI_LANES1(log1p_raw, log1p, 10)
FADI_LANES1(sin, sin, 10)
FADI_LANES1(cos, cos, 10)
FADI_LANES1(tan, tan, 10)
FADI_LANES1(asin, asin, 10)
FADI_LANES1(acos, acos, 10)
FADI_LANES1(atan, atan, 10)
FADI_LANES1(sinh_raw, sinh, 10)
FADI_LANES1(cosh_raw, cosh, 10)
FADI_LANES1(tanh, tanh, 10)
FADI_LANES1(cbrt, cbrt, 10)
FADI_LANES1(erf, erf, 10)
FADI_LANES1(erfc, erfc, 15)
FADI_LANES1(lgamma, lgamma, 10)
FADI_LANES1(tgamma_raw, tgamma, 10)
FADI_LANES2(pow, pow, 10)
FADI_LANES2(atan2, atan2, 10)
FADI_LANES2(hypot, hypot, 05)
FADI_EACH(log1p)
FADI_EACH(sinh)
FADI_EACH(cosh)
FADI_EACH(sign)
FADI_EACH(digamma)
FADI_EACH(trigamma)
FADI_EACH(scale)

INLINE vec v_tgamma(vec x)
{
    return v_tgamma_raw(x) + 0.0;
}

INLINE vec v_log1p(vec x)
{
    return any(x > 0x1p1000) ? each_log1p(x) : v_log1p_raw(x);
}

INLINE vec v_sinh(vec x)
{
    return any(magnitude(x) > 709.0) ? each_sinh(x) : v_sinh_raw(x);
}

INLINE vec v_cosh(vec x)
{
    return any(magnitude(x) > 709.0) ? each_cosh(x) : v_cosh_raw(x);
}

INLINE vec v_logistic_of(vec x, vec e)
{
    return choose(x < 0.0, e, splat(1.0)) / (1.0 + e);
}

INLINE vec v_logistic(vec x)
{
    return v_logistic_of(x, v_exp(-magnitude(x)));
}

INLINE vec v_log1p_unit(vec e)
{
    vec u = 1.0 + e;
    return v_log(u) + (e - (u - 1.0)) * (1.0 - 0.5 * e);
}

INLINE vec v_log1pexp_of(vec x, vec e)
{
    return choose(x > 0.0, x, splat(0.0)) + v_log1p_unit(e);
}

INLINE vec v_sech2(vec x)
{
    vec e = v_exp(-2.0 * magnitude(x));
    return 4.0 * e / ((1.0 + e) * (1.0 + e));
}

INLINE vec v_gauss(vec x)
{
    vec h = x * x;
    vec g = 0x1.20dd750429b6dp+0 * v_exp(-h) * (1.0 - fused(x, x, -h));
    return choose(h > 800.0, splat(0.0), g);
}

INLINE vec v_soft(vec x, vec peak)
{
    vec e = choose(x == peak, splat(1.0), v_exp(x - peak));
    return choose(peak == (double)-INFINITY, splat(0.0), e);
}

INLINE vec v_larger(vec a, vec b)
{
    return choose((a > b) | (a != a), a, b);
}

INLINE vec v_smaller(vec a, vec b)
{
    return choose((a < b) | (a != a), a, b);
}

/* a == 0 ? 0 : v */
INLINE vec unless_zero(vec a, vec v)
{
    return (vec)((ivec)v & (a != 0.0));
}

#endif
