/* Directional derivatives of random sums, by the tape and as programs: exact gradients times the direction, within the bound
 * of random_sum_check.h, where each operand costs a product and a sum; and their bits. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/directed_sum.h"

#include <math.h>
#include <stdlib.h>

static int jvp(const struct directed_sum *c, fad_pool *pool, const double *shared, const double *x, double *value, double *tangent)
{
    struct random_sum own;
    random_sum_describe(&c->r, pool, NULL, &own);
    return fad_sum_jvp(pool, &own.s, shared, x, value, tangent);
}

static void add_product(struct exact *sum, const struct exact *e, double factor)
{
    if (factor == 0) /* whatever e is */
        return;
    sum->number += factor * e->number;
    sum->size += fabs(factor) * e->size;
    sum->loss += fabs(factor) * e->loss;
}

static void check_tangents(const struct directed_sum *c, bool with_shared, bool with_x)
{
    const struct random_sum *r = &c->r;
    size_t P = r->s.shared_count;
    struct exact *e = calloc(r->y_count * (2 + P) + r->x_size + 1, sizeof *e), *g = e + r->y_count, *gx = g + r->y_count * P,
                 *tangent = gx + r->x_size;
    double value[3], got[3];
    unsigned edges = random_sum_exact(r, e, g, gx);
    for (size_t o = 0; o < r->y_count; o++) {
        for (size_t j = 0; with_shared && j < P; j++)
            add_product(tangent + o, g + o * P + j, c->shared[j]);
        for (size_t i = 0; with_x && i < directed_sum_width(c); i++)
            if (c->x[i] != 0)
                add_product(tangent + o, gx + directed_sum_place(c, i, o), c->x[i]);
    }
    assert_int_equal(jvp(c, pool_with(1 + r->seed % 4), with_shared ? c->shared : NULL, with_x ? c->x : NULL, value, got), 0);
    for (size_t o = 0; o < r->y_count; o++) {
        expect_number(c, "value", o, value[o], e + o, 3 * edges);
        expect_number(c, "tangent", o, got[o], tangent + o, 2 * edges + 4);
    }
    free(e);
}

static void tangents_are_right(void **state)
{
    (void)state;
    for (uint64_t seed = 30001; seed <= 30000 + DIRECTED_SUMS; seed++) {
        struct directed_sum c;
        directed_sum_make(&c, seed);
        for (int uniform = 0; uniform < 2; uniform++) {
            c.r.s.uniform = uniform;
            check_tangents(&c, true, false);
            check_tangents(&c, false, true);
            check_tangents(&c, true, true);
        }
        directed_sum_free(&c);
    }
}

static void bits_depend_on_the_description(void **state)
{
    struct dice d = {16};
    (void)state;
    for (uint64_t seed = 50001; seed <= 50000 + DIRECTED_SUMS; seed++) {
        struct directed_sum c;
        double g[3], value[3], tangent[3], again[3];
        directed_sum_make(&c, seed);
        size_t bytes = c.r.y_count * sizeof(double);
        c.r.s.uniform = seed & 1;
        assert_int_equal(random_sum_gradient(&c.r, NULL, g, NULL, NULL, NULL), 0);
        assert_int_equal(jvp(&c, NULL, c.shared, c.x, value, tangent), 0);
        check_same(&c.r, "value", value, g, bytes);
        for (unsigned run = 0; run < 5; run++) {
            c.r.s.grain = run % 3 == 2 ? 0 : 1 + dice_below(&d, 40);
            pattern_fill(again, sizeof again);
            assert_int_equal(jvp(&c, pool_with(1 + (unsigned)dice_below(&d, 16)), c.shared, c.x, NULL, again), 0);
            check_same(&c.r, "tangent alone", again, tangent, bytes);
            assert_int_equal(jvp(&c, pool_with(1 + (unsigned)dice_below(&d, 16)), c.shared, c.x, again, NULL), 0);
            check_same(&c.r, "value alone", again, value, bytes);
        }
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
        cmocka_unit_test(tangents_are_right),
        cmocka_unit_test(bits_depend_on_the_description),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
