/* Random sums: any shape of elements, masks, touched parameters, several values, subsets; terms are random expressions
 * that differ from element to element. With a plain serial evaluation in long double and its error bound. */
#ifndef TESTS_RANDOM_SUM_H
#define TESTS_RANDOM_SUM_H

#include "tests/expression_second.h"

enum { RANDOM_EXPRESSIONS = 3, RANDOM_WEIGHTS = 40, RANDOM_CODES = 100, RANDOM_COLUMNS = 3 };

struct random_sum {
    struct fad_sum s; /* without user and failure: random_sum_* fill them in */
    uint64_t seed;
    struct expression expression[RANDOM_EXPRESSIONS];
    double weights[RANDOM_WEIGHTS];
    size_t n, y_count;   /* elements summed, values of each */
    size_t x_size;       /* doubles of an x gradient, all values together */
    bool uniform;        /* elements of the same kind do the same operations */
    double *columns;     /* then: what terms take by fad_data, element k's numbers at k * column_stride */
    size_t column_stride;
    size_t *block_start; /* x_blocks: where each block's gradient is in it; SIZE_MAX: not wanted */

    /* may be changed from call to call */
    bool stalls;          /* terms give the processor away at random */
    bool nests;           /* some terms compute a sum of their own, on this pool: */
    fad_pool *pool;
    size_t failing;       /* 0: none; else about one in so many terms fails */
    uint64_t failing_seed;
    size_t k_offset;      /* added to the index that a term sees */
};

/* At most `elements` of them. */
void random_sum_make(struct random_sum *r, uint64_t seed, size_t elements);
/* Exactly so many elements, whose operations depend on nothing but their kind and their number of own numbers; s.uniform is
 * not set. The exact results then hold for any form of the operations (expression_reference_any). */
void random_sum_make_uniform(struct random_sum *r, uint64_t seed, size_t elements);
void random_sum_free(struct random_sum *r);

/* The description of one call, in own, for which several threads may have r: own.s. */
void random_sum_describe(const struct random_sum *r, fad_pool *pool, struct fad_failure *why, struct random_sum *own);
/* The calls; x is x_size doubles and may be NULL, as all outputs. Several threads may call at once. */
int random_sum_value(const struct random_sum *r, fad_pool *pool, double *value, struct fad_failure *why);
int random_sum_gradient(const struct random_sum *r, fad_pool *pool, double *value, double *shared, double *x,
                        struct fad_failure *why);
int random_sum_terms(const struct random_sum *r, fad_pool *pool, double *values, double *gradients,
                     struct fad_failure *why);

/* The code that element k fails with, or 0. */
int random_sum_code(const struct random_sum *r, size_t k);
/* Values that element k has of its own. */
size_t random_sum_count(const struct random_sum *r, size_t k);

/* A number, the sum of the absolute values it consists of, and what the terms' own arithmetic may lose of it. */
struct exact {
    long double number, size, loss;
};
/* value[y_count], shared[y_count * P], x[x_size]; zero at first. Returns the most operands that a term has. */
unsigned random_sum_exact(const struct random_sum *r, struct exact *value, struct exact *shared, struct exact *x);

/* Second derivatives in the shared parameters times a direction: product[y_count * P], zero at first. For sums that do not
 * nest. False: a choice in some term may go either way, and the numbers mean nothing. */
bool random_sum_exact_second(const struct random_sum *r, const double *direction, struct exact *product);

/* One call's outputs. */
struct outputs {
    double *value, *shared, *x; /* one stretch of memory, which begins with value */
    size_t bytes;
};
/* Filled with the pattern. */
struct outputs outputs_for(const struct random_sum *r);

#endif
