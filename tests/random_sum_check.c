/* See random_sum_check.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/random_sum_check.h"

#include <math.h>
#include <stdlib.h>

static void check_number(const char *what, uint64_t seed, size_t i, double got, const struct exact *e, long double gamma)
{
    long double bound = 1.01L * (e->loss + gamma * (e->size + e->loss));
    if (!(fabsl(got - e->number) <= bound) || (got == 0 && signbit(got)))
        fail_msg("sum %llu, %s %zu: %.17g, should be %.21Lg, allowed %.3Lg", (unsigned long long)seed, what, i, got,
                 e->number, bound);
}

/* Entries of elements outside the subset, and between rows, are left as they were. */
static bool in_no_element(const struct random_sum *r, size_t place)
{
    const struct fad_sum *s = &r->s;
    size_t extent = r->x_size / r->y_count, at = s->x_blocks ? place : place % extent;
    for (size_t k = s->first; k < s->first + r->n; k++) {
        size_t count = random_sum_count(r, k), stride = s->x_stride ? s->x_stride : s->x_count;
        size_t start = s->x_blocks ? r->block_start[k] : s->x_offsets ? s->x_offsets[k] : k * stride;
        if (start != SIZE_MAX && at >= start && at < start + count * (s->x_blocks ? r->y_count : 1))
            return false;
    }
    return true;
}

static int any_term(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user)
{
    (void)t, (void)k, (void)shared, (void)x, (void)y, (void)user;
    return 0;
}

static long double leaf_of(const struct random_sum *r)
{
    struct fad_sum s = r->s;
    s.term = any_term;
    return (long double)fad_sum_leaf(&s);
}

bool check_outputs(const struct random_sum *r, const struct outputs *o)
{
    size_t shared = r->y_count * r->s.shared_count;
    struct exact *value = calloc(r->y_count + shared + r->x_size + 1, sizeof *value), *x = value + r->y_count + shared;
    unsigned edges = random_sum_exact(r, value, value + r->y_count, x);
    long double leaf = leaf_of(r), gamma = (leaf * edges + 64 + (r->uniform ? 2 * edges + leaf : 0)) * UNIT;
    bool judged = isfinite(value->loss);
    for (size_t i = 0; i < r->y_count; i++)
        check_number("value", r->seed, i, o->value[i], value + i, gamma);
    for (size_t i = 0; i < shared; i++)
        check_number("shared", r->seed, i, o->shared[i], value + r->y_count + i, gamma);
    for (size_t i = 0; o->x && i < r->x_size; i++)
        if (!in_no_element(r, i))
            check_number("x", r->seed, i, o->x[i], x + i, gamma);
        else if (!pattern_intact(o->x + i, sizeof(double)))
            fail_msg("sum %llu: x gradient %zu belongs to no element and is written", (unsigned long long)r->seed, i);
    free(value);
    return judged;
}

void check_same(const struct random_sum *r, const char *what, const void *got, const void *expected, size_t bytes)
{
    if (!same_bits(got, expected, bytes))
        fail_msg("sum %llu: %s: other bits", (unsigned long long)r->seed, what);
}

/* All choices of outputs have the same bits, and what is not asked for is not touched. */
void check_subsets_of_outputs(const struct random_sum *r, const struct outputs *e, fad_pool *pool)
{
    size_t shared = r->y_count * r->s.shared_count * sizeof(double), x = r->x_size * sizeof(double);
    for (unsigned asked = 0; asked < 8; asked++) {
        struct outputs o = outputs_for(r);
        assert_int_equal(random_sum_gradient(r, pool, asked & 1 ? o.value : NULL, asked & 2 ? o.shared : NULL,
                                             asked & 4 ? o.x : NULL, NULL), 0);
        if (asked & 1)
            check_same(r, "value", o.value, e->value, r->y_count * sizeof(double));
        if (asked & 2)
            check_same(r, "shared gradient", o.shared, e->shared, shared);
        if (asked & 4)
            check_same(r, "x gradient", o.x, e->x, x);
        assert_true((asked & 1 || pattern_intact(o.value, r->y_count * sizeof(double))) &&
                    (asked & 2 || pattern_intact(o.shared, shared)) && (asked & 4 || pattern_intact(o.x, x)));
        free(o.value);
    }
}
