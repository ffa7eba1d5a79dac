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

INLINE double *slot(const struct at *s, uint32_t i)
{
    return s->slots + i * s->stride;
}

#endif
