/* Hessians of random sums times random directions: against second derivatives in long double, with the bits of value and
 * gradient, and the same for every number of workers. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/random_sum_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SUMS = 60, ELEMENTS = 60 };

/* Each contribution passes a sum of four products at each operand of its term, and the sums of the leaf and of the tree. */
static void check_products(const struct random_sum *r, const double *v, const double *product)
{
    size_t count = r->y_count * r->s.shared_count;
    struct exact *e = calloc(r->y_count * (2 + r->s.shared_count) * 2 + r->x_size + 1, sizeof *e),
                 *shared = e + r->y_count, *x = shared + count, *second = x + r->x_size;
    unsigned edges = random_sum_exact(r, e, shared, x);
    bool clear = random_sum_exact_second(r, v, second);
    size_t leaf = fad_sum_leaf(&r->s);
    for (size_t i = 0; clear && i < count; i++) {
        long double gamma = (8.0L * edges + (long double)leaf + 64) * UNIT;
        long double bound = second[i].loss + gamma * (second[i].size + second[i].loss);
        if (!(fabsl(second[i].number - product[i]) <= bound))
            fail_msg("seed %llu, entry %zu: %.17g instead of %.17Lg, off by more than %Lg", (unsigned long long)r->seed, i,
                     product[i], second[i].number, bound);
    }
    free(e);
}

static void products_are_right(void **state)
{
    (void)state;
    for (uint64_t seed = 9001; seed <= 9000 + SUMS; seed++) {
        struct random_sum r, own;
        struct dice d = {seed};
        random_sum_make(&r, seed, ELEMENTS);
        random_sum_describe(&r, NULL, NULL, &own);
        size_t P = r.s.shared_count, row = r.y_count * P, count = r.y_count + 2 * row;
        double *v = malloc((2 * P + 1) * sizeof *v), *first = malloc((3 * count + 1) * sizeof *first),
               *other = first + count, *two = other + count;
        for (size_t j = 0; j < 2 * P; j++)
            v[j] = dice_between(&d, -1, 1);
        r.s.term = own.s.term; /* fad_sum_leaf looks at the description */
        assert_int_equal(fad_sum_hvp(NULL, &own.s, v, first, first + r.y_count, first + r.y_count + row), 0);
        check_products(&r, v, first + r.y_count + row);
        random_sum_describe(&r, NULL, NULL, &own);
        for (unsigned workers = 1; workers <= 16; workers *= 4) {
            own.s.grain = workers % 3;
            pattern_fill(other, count * sizeof *other);
            assert_int_equal(fad_sum_hvp(pool_with(workers), &own.s, v, other, other + r.y_count, other + r.y_count + row), 0);
            check_same(&r, "product", other, first, count * sizeof *first);
        }
        assert_int_equal(random_sum_gradient(&r, NULL, other, other + r.y_count, NULL, NULL), 0);
        check_same(&r, "value and gradient", other, first, (r.y_count + row) * sizeof *first);
        assert_int_equal(fad_sum_hvp_many(NULL, &own.s, 2, v, NULL, NULL, two), 0);
        check_same(&r, "one of two products", two, first + r.y_count + row, row * sizeof *first);
        free(v);
        free(first);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_are_right)};
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
