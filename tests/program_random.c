/* Random uniform sums: the taped and the program form against the same exact results, and the program's bits. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/random_sum_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Around what programs do at once: 8 lanes, blocks of at most 128 elements. */
static const size_t sizes[] = {0, 1, 2, 7, 8, 9, 31, 33, 127, 128, 129, 300, 1000};
enum { SIZES = sizeof sizes / sizeof *sizes, SUMS = 8 * SIZES };

static size_t size_of(uint64_t seed)
{
    return sizes[seed % SIZES];
}

static void gradients_are_right(void **state)
{
    unsigned judged = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= SUMS; seed++) {
        struct random_sum r;
        random_sum_make_uniform(&r, seed, size_of(seed));
        for (int uniform = 0; uniform < 2; uniform++) {
            struct outputs o = outputs_for(&r);
            r.s.uniform = uniform;
            assert_int_equal(random_sum_gradient(&r, pool_with(1 + seed % 3), o.value, o.shared, o.x, NULL), 0);
            judged += check_outputs(&r, &o);
            free(o.value);
        }
        random_sum_free(&r);
    }
    /* a choice between numbers that differ by their errors is an accident */
    assert_in_range(judged, 2 * SUMS * 9 / 10, 2 * SUMS);
}

static void bits_depend_on_the_description(void **state)
{
    struct dice d = {815};
    (void)state;
    for (uint64_t seed = 1; seed <= SUMS / 2; seed++) {
        struct random_sum r;
        random_sum_make_uniform(&r, 5000 + seed, size_of(seed));
        r.s.uniform = true;
        struct outputs e = outputs_for(&r);
        assert_int_equal(random_sum_gradient(&r, NULL, e.value, e.shared, e.x, NULL), 0);
        for (unsigned run = 0; run < 6; run++) {
            fad_pool *pool = pool_with(1 + (unsigned)dice_below(&d, 16));
            struct outputs o = outputs_for(&r);
            r.s.grain = run % 3 == 2 ? 0 : 1 + dice_below(&d, 40);
            assert_int_equal(random_sum_gradient(&r, pool, o.value, o.shared, o.x, NULL), 0);
            check_same(&r, "gradient", o.value, e.value, e.bytes);
            pattern_fill(o.value, r.y_count * sizeof(double));
            assert_int_equal(random_sum_value(&r, pool, o.value, NULL), 0);
            check_same(&r, "value alone", o.value, e.value, r.y_count * sizeof(double));
            free(o.value);
        }
        check_subsets_of_outputs(&r, &e, pool_with(3));
        free(e.value);
        random_sum_free(&r);
    }
}

/* fad_sum_terms: each row is the sum over that element alone. */
static void terms_are_right(void **state)
{
    struct dice d = {64};
    (void)state;
    for (uint64_t seed = 1; seed <= SUMS / 2; seed++) {
        struct random_sum r;
        random_sum_make_uniform(&r, 8000 + seed, size_of(seed));
        size_t width = r.y_count * r.s.shared_count, first = r.s.first, n = r.n;
        double *values = calloc(n * r.y_count + 1, sizeof *values), *gradients = calloc(n * width + 1, sizeof *gradients);
        r.s.uniform = true;
        assert_int_equal(random_sum_terms(&r, pool_with(1 + seed % 4), values, gradients, NULL), 0);
        for (unsigned i = 0; n && i < 8; i++) {
            size_t row = dice_below(&d, n);
            r.s.first = first + row;
            r.s.count = r.n = 1;
            check_outputs(&r, &(struct outputs){values + row * r.y_count, gradients + row * width, NULL, 0});
        }
        free(values);
        free(gradients);
        random_sum_free(&r);
    }
}

/* ---- values that are not finite ---- */

static bool is_canonical(double v)
{
    static const uint64_t nan_bits = UINT64_C(0x7ff8000000000000);
    return isnan(v) ? same_bits(&v, &nan_bits, sizeof v) : !(v == 0 && signbit(v));
}

static double bad_value(struct dice *d)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY, 0x1p1023, 0x1p-1074};
    return bad[dice_below(d, sizeof bad / sizeof *bad)];
}

/* Rows in which every fifth element or so has a number that is not finite or extreme: its lane must not spoil the others'. */
static void bad_elements_keep_to_themselves(void **state)
{
    struct dice d = {31};
    unsigned done = 0;
    (void)state;
    for (uint64_t seed = 20001; done < 40; seed++) {
        struct random_sum r;
        random_sum_make_uniform(&r, seed, size_of(seed));
        struct fad_sum *s = &r.s;
        if (!s->x || s->x_offsets || !r.n) {
            random_sum_free(&r);
            continue;
        }
        done++;
        s->uniform = true;
        size_t stride = s->x_stride ? s->x_stride : s->x_count, all = s->terms * stride;
        double *spoilt = malloc(all * sizeof *spoilt);
        bool *bad = calloc(s->terms, sizeof *bad);
        memcpy(spoilt, s->x, all * sizeof *spoilt);
        for (size_t k = 0; k < s->terms; k++) {
            bad[k] = dice_below(&d, 5) == 0;
            if (bad[k])
                spoilt[k * stride + dice_below(&d, s->x_count)] = bad_value(&d);
        }
        struct outputs good = outputs_for(&r), o = outputs_for(&r);
        assert_int_equal(random_sum_gradient(&r, pool_with(2), good.value, good.shared, good.x, NULL), 0);
        const double *x = s->x;
        s->x = spoilt;
        assert_int_equal(random_sum_gradient(&r, pool_with(2), o.value, o.shared, o.x, NULL), 0);
        for (size_t i = 0; i < r.y_count * (1 + s->shared_count); i++)
            assert_true(is_canonical(o.value[i]));
        for (size_t k = s->first; k < s->first + r.n; k++) {
            for (size_t y = 0; y < r.y_count; y++) {
                const size_t at = y * all + k * stride;
                if (!bad[k])
                    check_same(&r, "x gradient of a good element", o.x + at, good.x + at, s->x_count * sizeof(double));
                for (size_t j = 0; j < s->x_count; j++)
                    assert_true(is_canonical(o.x[at + j]));
            }
        }
        s->x = x;
        free(good.value);
        free(o.value);
        free(spoilt);
        free(bad);
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
        cmocka_unit_test(terms_are_right),
        cmocka_unit_test(bad_elements_keep_to_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
