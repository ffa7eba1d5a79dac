/* Random sums: gradients against a plain serial evaluation in long double; bits that depend on nothing but the description.
 *
 * The bound. Let `size` be the sum over all terms and all paths of the absolute values, `loss` what partial derivatives
 * may be off (expression.h). Each contribution to one number passes through at most K = leaf * operands roundings on its
 * leaf's tape and in its leaf's sum, and one in each of at most 64 levels of the tree; so the result is off by at most
 * loss + gamma (size + loss), gamma = (K + 64) u with u = 2^-53. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/random_sum.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUMS = 150, ELEMENTS = 120 };

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

static void check_outputs(const struct random_sum *r, const struct outputs *o)
{
    size_t shared = r->y_count * r->s.shared_count;
    struct exact *value = calloc(r->y_count + shared + r->x_size + 1, sizeof *value), *x = value + r->y_count + shared;
    unsigned edges = random_sum_exact(r, value, value + r->y_count, x);
    long double gamma = ((long double)fad_sum_leaf(&r->s) * edges + 64) * UNIT;
    for (size_t i = 0; i < r->y_count; i++)
        check_number("value", r->seed, i, o->value[i], value + i, gamma);
    for (size_t i = 0; i < shared; i++)
        check_number("shared", r->seed, i, o->shared[i], value + r->y_count + i, gamma);
    for (size_t i = 0; i < r->x_size; i++)
        if (!in_no_element(r, i))
            check_number("x", r->seed, i, o->x[i], x + i, gamma);
        else if (!pattern_intact(o->x + i, sizeof(double)))
            fail_msg("sum %llu: x gradient %zu belongs to no element and is written", (unsigned long long)r->seed, i);
    free(value);
}

static int any_term(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user)
{
    (void)t, (void)k, (void)shared, (void)x, (void)y, (void)user;
    return 0;
}

/* Gradients within the bound, for every shape. */
static void gradients_are_right(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SUMS; seed++) {
        struct random_sum r;
        random_sum_make(&r, seed, ELEMENTS);
        r.s.term = any_term; /* for fad_sum_leaf */
        r.nests = seed % 5 == 0;
        struct outputs o = outputs_for(&r);
        assert_int_equal(random_sum_gradient(&r, pool_with(1 + seed % 3), o.value, o.shared, o.x, NULL), 0);
        check_outputs(&r, &o);
        free(o.value);
        random_sum_free(&r);
    }
}

static void same(const struct random_sum *r, const char *what, const void *got, const void *expected, size_t bytes)
{
    if (!same_bits(got, expected, bytes))
        fail_msg("sum %llu: %s: other bits", (unsigned long long)r->seed, what);
}

/* All choices of outputs have the same bits, and what is not asked for is not touched. */
static void check_subsets_of_outputs(const struct random_sum *r, const struct outputs *e, fad_pool *pool)
{
    size_t shared = r->y_count * r->s.shared_count * sizeof(double), x = r->x_size * sizeof(double);
    for (unsigned asked = 0; asked < 8; asked++) {
        struct outputs o = outputs_for(r);
        assert_int_equal(random_sum_gradient(r, pool, asked & 1 ? o.value : NULL, asked & 2 ? o.shared : NULL,
                                             asked & 4 ? o.x : NULL, NULL), 0);
        if (asked & 1)
            same(r, "value", o.value, e->value, r->y_count * sizeof(double));
        if (asked & 2)
            same(r, "shared gradient", o.shared, e->shared, shared);
        if (asked & 4)
            same(r, "x gradient", o.x, e->x, x);
        assert_true((asked & 1 || pattern_intact(o.value, r->y_count * sizeof(double))) &&
                    (asked & 2 || pattern_intact(o.shared, shared)) && (asked & 4 || pattern_intact(o.x, x)));
        free(o.value);
    }
}

static void bits_depend_on_the_description(void **state)
{
    struct dice d = {4711};
    (void)state;
    for (uint64_t seed = 1; seed <= SUMS; seed++) {
        struct random_sum r;
        random_sum_make(&r, 1000 + seed, 2 * ELEMENTS);
        r.nests = seed % 3 == 0;
        struct outputs e = outputs_for(&r);
        assert_int_equal(random_sum_gradient(&r, NULL, e.value, e.shared, e.x, NULL), 0);
        for (unsigned run = 0; run < 6; run++) {
            fad_pool *pool = pool_with(1 + (unsigned)dice_below(&d, 16));
            struct outputs o = outputs_for(&r);
            r.s.grain = run % 3 == 2 ? 0 : 1 + dice_below(&d, 40);
            r.stalls = run % 2;
            assert_int_equal(random_sum_gradient(&r, pool, o.value, o.shared, o.x, NULL), 0);
            same(&r, "gradient", o.value, e.value, e.bytes);
            pattern_fill(o.value, r.y_count * sizeof(double));
            assert_int_equal(random_sum_value(&r, pool, o.value, NULL), 0);
            same(&r, "value alone", o.value, e.value, r.y_count * sizeof(double));
            free(o.value);
        }
        r.stalls = false;
        check_subsets_of_outputs(&r, &e, pool_with(3));
        free(e.value);
        random_sum_free(&r);
    }
}

/* A subset is a sum of its own: the bits of a description of these elements alone. */
static void subsets_are_sums(void **state)
{
    struct dice d = {99};
    unsigned done = 0;
    (void)state;
    for (uint64_t seed = 2001; done < 60; seed++) {
        struct random_sum r, part;
        random_sum_make(&r, seed, ELEMENTS);
        if (r.s.terms < 2 || r.s.x_blocks) {
            random_sum_free(&r);
            continue;
        }
        done++;
        r.s.first = dice_below(&d, r.s.terms);
        r.s.count = r.n = 1 + dice_below(&d, r.s.terms - r.s.first);
        part = r;
        part.k_offset = r.s.first;
        part.s.first = part.s.count = 0;
        part.s.terms = r.n;
        size_t stride = r.s.x_stride ? r.s.x_stride : r.s.x_count;
        if (r.s.x_offsets)
            part.s.x_offsets += r.s.first;
        else if (r.s.x_count)
            part.s.x += r.s.first * stride;
        if (r.s.touch)
            part.s.touch += r.s.first * r.s.touch_count;
        size_t bytes = (r.y_count + r.y_count * r.s.shared_count) * sizeof(double);
        struct outputs a = outputs_for(&r), b = outputs_for(&r);
        assert_int_equal(random_sum_gradient(&r, pool_with(4), a.value, a.shared, NULL, NULL), 0);
        assert_int_equal(random_sum_gradient(&part, pool_with(2), b.value, b.shared, NULL, NULL), 0);
        same(&r, "subset", a.value, b.value, bytes);
        free(a.value);
        free(b.value);
        random_sum_free(&r);
    }
}

/* fad_sum_terms: each row has the bits of the sum over that element alone. */
static void terms_are_sums_of_one(void **state)
{
    struct dice d = {77};
    (void)state;
    for (uint64_t seed = 3001; seed <= 3060; seed++) {
        struct random_sum r, one;
        random_sum_make(&r, seed, 40);
        size_t width = r.y_count * r.s.shared_count, first = r.s.first, n = r.n;
        double *values = calloc(n * r.y_count + 1, sizeof *values), *gradients = calloc(n * width + 1, sizeof *gradients);
        r.nests = r.stalls = seed % 4 == 0;
        r.s.grain = seed % 2;
        assert_int_equal(random_sum_terms(&r, pool_with(1 + seed % 8), values, gradients, NULL), 0);
        for (unsigned i = 0; n && i < 8; i++) {
            size_t row = dice_below(&d, n);
            one = r;
            one.s.first = first + row;
            one.s.count = one.n = 1;
            struct outputs o = outputs_for(&one);
            assert_int_equal(random_sum_gradient(&one, NULL, o.value, o.shared, NULL, NULL), 0);
            same(&r, "term's value", values + row * r.y_count, o.value, r.y_count * sizeof(double));
            same(&r, "term's gradient", gradients + row * width, o.shared, width * sizeof(double));
            free(o.value);
        }
        free(values);
        free(gradients);
        random_sum_free(&r);
    }
}

static int end_pools(void **state)
{
    (void)state;
    pools_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_right),
        cmocka_unit_test(bits_depend_on_the_description),
        cmocka_unit_test(subsets_are_sums),
        cmocka_unit_test(terms_are_sums_of_one),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
