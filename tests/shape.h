/* Sums of all shapes in small whole numbers, so that every result is exact in whatever order it is computed; the same term to be
 * recorded and as a rule.
 *
 * Term k: y[o] = (o + 1) lin^2 + (k mod 3) s[o mod S], lin = sum over j of x[j] s[(j + k) mod S]; S parameters are seen. */
#ifndef TESTS_SHAPE_H
#define TESTS_SHAPE_H

#include <stdatomic.h>

#include "tests/ad_support.h"

enum { SHAPE_N = 48, SHAPE_P = 1200, SHAPE_X = 5, SHAPE_Y = 3 };

struct shape {
    struct fad_sum s; /* with term; its user is the shape */
    size_t n;         /* elements that are summed */
    size_t y_count;
    size_t x_size;    /* places of x, however it is laid out */
    double shared[SHAPE_P], x[SHAPE_N * (SHAPE_X + 1)], block_gradient[SHAPE_Y * SHAPE_N * SHAPE_X];
    unsigned char shared_fixed[SHAPE_P], x_fixed[SHAPE_X];
    size_t offsets[SHAPE_N + 1]; /* of ragged elements, in blocks too */
    struct fad_block blocks[SHAPE_N];
    uint32_t touch[SHAPE_N * 3];
    _Atomic size_t runs, pullbacks, tangents;
};

/* overlaps: elements may share numbers. */
void shape_make(struct shape *c, uint64_t seed, bool overlaps);
/* The same sum by its rule instead of its term. */
struct fad_sum shape_ruled(const struct shape *c, bool saves);
/* Where element k's numbers are in an array that is laid out as x. */
size_t shape_place(const struct shape *c, size_t k, size_t *count);
/* All terms recorded one after the other on t: y[y_count]; or those of each term, y[n][y_count]. Fixed entries are constants. */
void shape_record(const struct shape *c, fad_tape *t, const fad_real *shared, const fad_real *x, fad_real *y, bool each);

#endif
