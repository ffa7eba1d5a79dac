/* Hessian-vector products of random sums, by the tape and as programs, against a plain evaluation in long double
 * (expression_second.h), and their bits. The bound is that of random_sum_check.h, with 4 roundings for each operand: both factors on the
 * way are sums of two products. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/directed_sum.h"

#include <math.h>
#include <stdlib.h>

static int hvp(const struct directed_sum *c, fad_pool *pool, double *value, double *gradient, double *product)
{
    struct random_sum own;
    random_sum_describe(&c->r, pool, NULL, &own);
    return fad_sum_hvp(pool, &own.s, c->shared, value, gradient, product);
}

/* ---- the reference itself ---- */

static void the_reference_agrees_with_differences(void **state)
{
    const double h = 0x1p-16;
    unsigned checked = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct dice d = {seed << 30};
        struct expression e;
        double at[EXPRESSION_INPUTS], along[EXPRESSION_INPUTS], there[EXPRESSION_INPUTS];
        struct second second;
        struct reference up, down;
        expression_tame(&e, &d, 16 + (unsigned)dice_below(&d, EXPRESSION_STEPS - 16));
        for (unsigned j = 0; j < EXPRESSION_INPUTS; j++) {
            at[j] = (double)(float)dice_between(&d, -2, 2);
            along[j] = (double)(float)dice_between(&d, -1, 1); /* so that at + h along is exact */
        }
        expression_second(&e, at, along, &second);
        for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
            there[j] = at[j] + h * along[j];
        expression_reference_any(&e, there, &up);
        for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
            there[j] = at[j] - h * along[j];
        expression_reference_any(&e, there, &down);
        if (!second.clear || !isfinite(up.value_error) || !isfinite(down.value_error))
            continue;
        for (unsigned j = 0; j < EXPRESSION_INPUTS; j++) {
            long double slope = (up.gradient[j] - down.gradient[j]) / (2 * h);
            /* h^2 = 2^-32 of third derivatives, which are taken to be below 2^10 of all paths; a kink in between is the rest */
            bool near = fabsl(slope - second.product[j]) <= 0x1p-22L * (second.size[j] + up.paths[j]);
            checked += near;
            if (!near && fabsl(slope) < 0x1p-4L / h)
                fail_msg("expression %llu, input %u: %.17Lg, differences %.17Lg", (unsigned long long)seed, j, second.product[j],
                         slope);
        }
    }
    assert_true(checked > 1500);
}

/* ---- Hessian-vector products ---- */

static void products_are_right(void **state)
{
    unsigned judged = 0, all = 0;
    (void)state;
    for (uint64_t seed = 40001; seed <= 40000 + DIRECTED_SUMS; seed++) {
        struct directed_sum c;
        directed_sum_make(&c, seed);
        struct random_sum *r = &c.r;
        size_t values = r->y_count, P = r->s.shared_count, outputs = values * (1 + 2 * P);
        struct exact *e = calloc(outputs + r->x_size + 1, sizeof *e), *g = e + values, *h = g + values * P;
        unsigned edges = random_sum_exact(r, e, g, e + outputs);
        bool clear = random_sum_exact_second(r, c.shared, h);
        for (int uniform = 0; uniform < 2; uniform++) {
            double *got = malloc((outputs + 1) * sizeof *got);
            r->s.uniform = uniform;
            assert_int_equal(hvp(&c, pool_with(1 + seed % 4), got, got + values, got + values * (1 + P)), 0);
            for (size_t i = 0; clear && i < values; i++)
                expect_number(&c, "value", i, got[i], e + i, 3 * edges);
            for (size_t i = values; clear && i < values * (1 + P); i++)
                expect_number(&c, "gradient", i - values, got[i], e + i, 3 * edges);
            for (size_t i = values * (1 + P); clear && i < outputs; i++)
                expect_number(&c, "product", i - values * (1 + P), got[i], e + i, 4 * edges);
            free(got);
        }
        judged += clear;
        all++;
        free(e);
        directed_sum_free(&c);
    }
    assert_in_range(judged, all * 8 / 10, all); /* the others are at a kink */
}

/* ---- bits ---- */

static void check_subsets(const struct directed_sum *c, fad_pool *pool, const double *e)
{
    size_t values = c->r.y_count, gradients = values * c->r.s.shared_count, outputs = values + 2 * gradients;
    for (unsigned asked = 0; asked < 8; asked++) {
        double *o = malloc((outputs + 1) * sizeof *o);
        pattern_fill(o, outputs * sizeof *o);
        assert_int_equal(hvp(c, pool, asked & 1 ? o : NULL, asked & 2 ? o + values : NULL,
                             asked & 4 ? o + values + gradients : NULL), 0);
        for (unsigned part = 0; part < 3; part++) {
            size_t at = part == 0 ? 0 : part == 1 ? values : values + gradients;
            size_t bytes = (part == 0 ? values : gradients) * sizeof *o;
            if (asked >> part & 1)
                check_same(&c->r, part == 0 ? "value" : part == 1 ? "gradient" : "product", o + at, e + at, bytes);
            else
                assert_true(pattern_intact(o + at, bytes));
        }
        free(o);
    }
}

static void bits_depend_on_the_description(void **state)
{
    struct dice d = {16};
    (void)state;
    for (uint64_t seed = 50001; seed <= 50000 + DIRECTED_SUMS / 2; seed++) {
        struct directed_sum c;
        directed_sum_make(&c, seed);
        size_t values = c.r.y_count, P = c.r.s.shared_count, outputs = values * (1 + 2 * P);
        c.r.s.uniform = seed & 1;
        struct outputs g = outputs_for(&c.r);
        double *e = malloc((outputs + 1) * sizeof *e), *o = malloc((outputs + 1) * sizeof *o);
        assert_int_equal(random_sum_gradient(&c.r, NULL, g.value, g.shared, g.x, NULL), 0);
        assert_int_equal(hvp(&c, NULL, e, e + values, e + values * (1 + P)), 0);
        check_same(&c.r, "value of hvp", e, g.value, values * sizeof *e);
        for (unsigned run = 0; run < 5; run++) {
            fad_pool *pool = pool_with(1 + (unsigned)dice_below(&d, 16));
            c.r.s.grain = run % 3 == 2 ? 0 : 1 + dice_below(&d, 40);
            assert_int_equal(hvp(&c, pool, o, o + values, o + values * (1 + P)), 0);
            check_same(&c.r, "hvp", o, e, outputs * sizeof *e);
        }
        check_subsets(&c, pool_with(3), e);
        free(g.value);
        free(e);
        free(o);
        directed_sum_free(&c);
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
        cmocka_unit_test(the_reference_agrees_with_differences),
        cmocka_unit_test(products_are_right),
        cmocka_unit_test(bits_depend_on_the_description),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
