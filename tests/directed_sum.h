/* Random uniform sums with a direction. */
#ifndef TESTS_DIRECTED_SUM_H
#define TESTS_DIRECTED_SUM_H

#include "tests/random_sum_check.h"

enum { DIRECTED_SUMS = 66 }; /* in a row they have all sizes around 8 lanes and blocks of 128 elements */

struct directed_sum {
    struct random_sum r;
    double *shared, *x; /* laid out as fad_sum_jvp wants it; zero for blocks without a gradient */
};
void directed_sum_make(struct directed_sum *c, uint64_t seed);
void directed_sum_free(struct directed_sum *c);

/* Where the gradient of x that belongs to entry i of x is, for value o; SIZE_MAX: nowhere. */
size_t directed_sum_place(const struct directed_sum *c, size_t i, size_t o);
size_t directed_sum_width(const struct directed_sum *c); /* entries of x */

/* Numbers within their bound, for `each` roundings a term; a failure ends the test. */
void expect_number(const struct directed_sum *c, const char *what, size_t i, double got, const struct exact *e, unsigned each);

#endif
