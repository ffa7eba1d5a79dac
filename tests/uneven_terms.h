/* Terms that keep or break the promise of struct fad_sum's `uniform`, on small integers, and sums of them. */
#ifndef TESTS_UNEVEN_TERMS_H
#define TESTS_UNEVEN_TERMS_H

#include "tests/ad_support.h"

enum { UNEVEN_SHARED = 3, UNEVEN_OWN = 2, UNEVEN_MOST = 4096 };

struct uneven {
    const char *name;
    fad_term *term; /* user: uneven_table, unless the test has its own */
};

/* Recordings of some elements, or with other numbers, show that these are not uniform. */
extern const struct uneven uneven_terms[];
extern const size_t uneven_count;
/* And that these are. */
extern const struct uneven even_terms[];
extern const size_t even_count;
/* a factor that all elements read from *(double *)user */
extern const struct uneven frozen_term;
/* does something else if the first parameter is above 2, which recordings at 2 and with NaN do not show */
extern const struct uneven unseen_branch_term;
/* What terms look up. */
extern double uneven_table[UNEVEN_MOST];

struct uneven_sum {
    struct fad_sum s;
    double value, shared[UNEVEN_SHARED], *x; /* one call's outputs */
    double parameters[UNEVEN_SHARED], *data;
};
struct uneven_sum uneven_sum(const struct uneven *term, size_t n);
void uneven_end(struct uneven_sum *s);
int uneven_gradient(struct uneven_sum *s, fad_pool *pool);
bool uneven_equal(const struct uneven_sum *a, const struct uneven_sum *b);

#endif
