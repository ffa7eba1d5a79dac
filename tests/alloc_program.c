/* No memory, at each allocation in turn, of programs: made for a call or before, values, gradients, directions, Hessians. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/allocations.h"
#include "tests/random_sum.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int gradient_of(const void *what, fad_pool *pool, double *out)
{
    const struct random_sum *r = what;
    size_t shared = r->y_count * r->s.shared_count;
    return random_sum_gradient(r, pool, out, out + r->y_count, out + r->y_count + shared, NULL);
}

static int value_of(const void *what, fad_pool *pool, double *out)
{
    return random_sum_value(what, pool, out, NULL);
}

/* The direction is the parameters themselves. */
static int tangent_of(const void *what, fad_pool *pool, double *out)
{
    const struct random_sum *r = what;
    struct random_sum own;
    random_sum_describe(r, pool, NULL, &own);
    return fad_sum_jvp(pool, &own.s, own.s.shared, NULL, out, out + r->y_count);
}

/* By a program of its own. */
static int product_of(const void *what, fad_pool *pool, double *out)
{
    const struct random_sum *r = what;
    struct random_sum own;
    fad_program *p = NULL;
    random_sum_describe(r, pool, NULL, &own);
    int rc = fad_program_create(&p, &own.s);
    own.s.program = p;
    if (!rc)
        rc = fad_sum_hvp(pool, &own.s, own.s.shared, out, NULL, out + r->y_count);
    return fad_program_destroy(p) ? 1 : rc;
}

static void programs_of_all_shapes(void **state)
{
    (void)state;
    for (uint64_t seed = 7101; seed <= 7106; seed++) {
        struct random_sum r;
        char name[40];
        random_sum_make_uniform(&r, seed, 6);
        r.s.uniform = true;
        r.s.grain = 1;
        size_t row = r.y_count + r.y_count * r.s.shared_count;
        snprintf(name, sizeof name, "uniform sum %llu", (unsigned long long)seed);
        unsigned workers = seed % 2 ? 0 : 3;
        each_allocation(gradient_of, name, &r, row + r.x_size, workers);
        if (seed % 3 == 0)
            each_allocation(value_of, name, &r, r.y_count, workers);
        else if (seed % 3 == 1)
            each_allocation(tangent_of, name, &r, 2 * r.y_count, workers);
        else if (r.s.shared_count)
            each_allocation(product_of, name, &r, row, workers);
        random_sum_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs_of_all_shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
