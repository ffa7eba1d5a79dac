/** @file vector.h  Vectors of this machine's own width, for the contenders that are written by hand for it. */
#ifndef BENCH_VECTOR_H
#define BENCH_VECTOR_H

#include <math.h>
#include <stddef.h>

#if defined(__AVX2__) || defined(__aarch64__)
#include <sleef.h>
#endif

#if defined(__AVX512F__)
#define LANES 8
#elif defined(__AVX2__)
#define LANES 4
#else
#define LANES 2
#endif

typedef double vector __attribute__((vector_size(8 * LANES)));
/* The same on a double's boundary. */
typedef double loose_vector __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

static inline vector v_load(const double *p)
{
    return *(const loose_vector *)p;
}

static inline void v_store(double *p, vector v)
{
    *(loose_vector *)p = v;
}

static inline vector v_set(double x)
{
    return x - (vector){0}; /* and not +, which loses the sign of -0 */
}

static inline double v_total(vector v)
{
    double sum = 0;
    for (int i = 0; i < LANES; i++)
        sum += v[i];
    return sum;
}

static inline vector v_larger(vector a, vector b)
{
    typedef long long mask __attribute__((vector_size(8 * LANES)));
    mask m = a > b;
    return (vector)(((mask)a & m) | ((mask)b & ~m));
}

static inline vector v_exp(vector x)
{
#if defined(__AVX512F__)
    return Sleef_finz_expd8_u10avx512f(x);
#elif defined(__AVX2__)
    return Sleef_finz_expd4_u10avx2(x);
#elif defined(__aarch64__)
    return (vector)Sleef_finz_expd2_u10advsimd((float64x2_t)x);
#else
    for (int i = 0; i < LANES; i++)
        x[i] = exp(x[i]);
    return x;
#endif
}

static inline vector v_log(vector x)
{
#if defined(__AVX512F__)
    return Sleef_finz_logd8_u10avx512f(x);
#elif defined(__AVX2__)
    return Sleef_finz_logd4_u10avx2(x);
#elif defined(__aarch64__)
    return (vector)Sleef_finz_logd2_u10advsimd((float64x2_t)x);
#else
    for (int i = 0; i < LANES; i++)
        x[i] = log(x[i]);
    return x;
#endif
}

#endif
