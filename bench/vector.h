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

static inline vector v_cos(vector x)
{
#if defined(__AVX512F__)
    return Sleef_finz_cosd8_u10avx512f(x);
#elif defined(__AVX2__)
    return Sleef_finz_cosd4_u10avx2(x);
#elif defined(__aarch64__)
    return (vector)Sleef_finz_cosd2_u10advsimd((float64x2_t)x);
#else
    for (int i = 0; i < LANES; i++)
        x[i] = cos(x[i]);
    return x;
#endif
}

/* Returns the sine. */
static inline vector v_sincos(vector x, vector *cosine)
{
#if defined(__AVX512F__)
    Sleef___m512d_2 both = Sleef_finz_sincosd8_u10avx512f(x);
#elif defined(__AVX2__)
    Sleef___m256d_2 both = Sleef_finz_sincosd4_u10avx2(x);
#elif defined(__aarch64__)
    Sleef_float64x2_t_2 both = Sleef_finz_sincosd2_u10advsimd((float64x2_t)x);
#else
    struct {
        vector x, y;
    } both;
    for (int i = 0; i < LANES; i++) {
        both.x[i] = sin(x[i]);
        both.y[i] = cos(x[i]);
    }
#endif
    *cosine = (vector)both.y;
    return (vector)both.x;
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

/* Every other lane of a and then of b, from the first or from the second one on. */
static inline vector v_even(vector a, vector b)
{
#if LANES == 8
    return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
#elif LANES == 4
    return __builtin_shufflevector(a, b, 0, 2, 4, 6);
#else
    return __builtin_shufflevector(a, b, 0, 2);
#endif
}

static inline vector v_odd(vector a, vector b)
{
#if LANES == 8
    return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
#elif LANES == 4
    return __builtin_shufflevector(a, b, 1, 3, 5, 7);
#else
    return __builtin_shufflevector(a, b, 1, 3);
#endif
}

/* Lane i of the result: the sum of all lanes of v[i]; v[LANES] is overwritten. */
static inline vector v_totals(vector *v)
{
    for (int left = LANES; left > 1; left /= 2)
        for (int i = 0; i < left / 2; i++)
            v[i] = v_even(v[2 * i], v[2 * i + 1]) + v_odd(v[2 * i], v[2 * i + 1]);
    return v[0];
}

#endif
