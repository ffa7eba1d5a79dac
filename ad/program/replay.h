/** @file replay.h  What the parts of the executor share. They are headers, compiled once for each width of vectors (lanes.h)
 * as parts of replay.c. */
#ifndef FADI_PROGRAM_REPLAY_H
#define FADI_PROGRAM_REPLAY_H

#include "ad/program/code.h"
#include "ad/program/columns.h"
#include "ad/program/lanes.h"

/* Vectors in FADI_LANES lanes. */
#define PARTS (8 / FADI_WIDTH)
/* M(0) M(1) .. */
#define TIMES1(M) M(0)
#define TIMES2(M) TIMES1(M) M(1)
#define TIMES3(M) TIMES2(M) M(2)
#define TIMES4(M) TIMES3(M) M(3)
#define TIMES5(M) TIMES4(M) M(4)
#define TIMES6(M) TIMES5(M) M(5)
#define TIMES7(M) TIMES6(M) M(6)
#define TIMES8(M) TIMES7(M) M(7)

/* What the loops read again and again. */
struct at {
    double *slots;
    const double *registers;
    double *sums;
    const double *const *rows;
    size_t stride, lanes, count;
};

INLINE void store_anywhere(double *p, vec v)
{
    memcpy(p, &v, sizeof v);
}

#if FADI_WIDTH == 8
INLINE __m512d two_fours(const double *low, const double *high)
{
    return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(low)), _mm256_loadu_pd(high), 1);
}

/* The transpose of the lower halves of four vectors, and that of the upper halves. */
INLINE void transpose_halves(__m512d *v)
{
    const __m512i low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    __m512d p = _mm512_unpacklo_pd(v[0], v[1]), q = _mm512_unpackhi_pd(v[0], v[1]);
    __m512d r = _mm512_unpacklo_pd(v[2], v[3]), s = _mm512_unpackhi_pd(v[2], v[3]);
    v[0] = _mm512_permutex2var_pd(p, low, r);
    v[1] = _mm512_permutex2var_pd(q, low, s);
    v[2] = _mm512_permutex2var_pd(p, high, r);
    v[3] = _mm512_permutex2var_pd(q, high, s);
}
#endif

INLINE double *slot(const struct at *s, uint32_t i)
{
    return s->slots + i * s->stride;
}

#endif
