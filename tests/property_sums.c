/* Random sums: gradients against a plain serial evaluation in long double; bits that depend on nothing but the description. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/random_sum_check.h"

#include <stdlib.h>
#include <string.h>

enum { SUMS = 150, ELEMENTS = 120 };

/* Gradients within the bound, for every shape. */
static void gradients_are_right(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SUMS; seed++) {
        struct random_sum r;
        random_sum_make(&r, seed, ELEMENTS);
        r.nests = seed % 5 == 0;
        struct outputs o = outputs_for(&r);
        assert_int_equal(random_sum_gradient(&r, pool_with(1 + seed % 3), o.value, o.shared, o.x, NULL), 0);
        check_outputs(&r, &o);
        free(o.value);
        random_sum_free(&r);
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
            check_same(&r, "gradient", o.value, e.value, e.bytes);
            pattern_fill(o.value, r.y_count * sizeof(double));
            assert_int_equal(random_sum_value(&r, pool, o.value, NULL), 0);
            check_same(&r, "value alone", o.value, e.value, r.y_count * sizeof(double));
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
        check_same(&r, "subset", a.value, b.value, bytes);
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
            check_same(&r, "term's value", values + row * r.y_count, o.value, r.y_count * sizeof(double));
            check_same(&r, "term's gradient", gradients + row * width, o.shared, width * sizeof(double));
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
