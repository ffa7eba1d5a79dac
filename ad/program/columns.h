/** @file columns.h  Rows of memory to columns of lanes and back, a few at a time. */
#ifndef FADI_PROGRAM_COLUMNS_H
#define FADI_PROGRAM_COLUMNS_H

#include <stddef.h>
#include <string.h>

#ifdef __AVX__
#include <immintrin.h>
#endif

typedef double fadi_four __attribute__((vector_size(32)));
typedef long long fadi_four_bits __attribute__((vector_size(32)));

/** Lanes of a (0 .. 3) and b (4 .. 7). */
#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)
#define FADI_FOUR_OF(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define FADI_FOUR_OF(a, b, ...) __builtin_shuffle(a, b, (fadi_four_bits){__VA_ARGS__})
#endif

static inline fadi_four fadi_four_load(const double *p)
{
    fadi_four v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void fadi_four_store(double *p, fadi_four v)
{
    memcpy(p, &v, sizeof v);
}

/** a[0], a[1], b[0], b[1]. */
static inline fadi_four fadi_four_pairs(const double *a, const double *b)
{
#ifdef __AVX__
    return (fadi_four)_mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_loadu_pd(a)), _mm_loadu_pd(b), 1);
#else
    return (fadi_four){a[0], a[1], b[0], b[1]};
#endif
}

/** The transpose of four vectors. */
static inline void fadi_transpose(fadi_four *a, fadi_four *b, fadi_four *c, fadi_four *d)
{
    fadi_four p = FADI_FOUR_OF(*a, *b, 0, 4, 2, 6);
    fadi_four q = FADI_FOUR_OF(*a, *b, 1, 5, 3, 7);
    fadi_four r = FADI_FOUR_OF(*c, *d, 0, 4, 2, 6);
    fadi_four s = FADI_FOUR_OF(*c, *d, 1, 5, 3, 7);
    *a = FADI_FOUR_OF(p, r, 0, 1, 4, 5);
    *b = FADI_FOUR_OF(q, s, 0, 1, 4, 5);
    *c = FADI_FOUR_OF(p, r, 2, 3, 6, 7);
    *d = FADI_FOUR_OF(q, s, 2, 3, 6, 7);
}

/** What fadi_canonical does. */
static inline fadi_four fadi_four_canonical(fadi_four v)
{
    const fadi_four_bits nan = {0x7ff8000000000000, 0x7ff8000000000000, 0x7ff8000000000000, 0x7ff8000000000000};
    fadi_four_bits number = v == v;
    v += 0.0;
    return (fadi_four)(((fadi_four_bits)v & number) | (nan & ~number));
}

#endif
