/* Memory of folds with derivatives, in bytes that the allocator gave out at the same time: what the formula in reduce.h says,
 * for stored and for recomputed recordings. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/ad_support.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_long live, peak;

/* the names are the linker's */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *p);

static void *counted(void *p)
{
    long now = atomic_fetch_add(&live, (long)malloc_usable_size(p)) + (long)malloc_usable_size(p), seen = atomic_load(&peak);
    while (now > seen && !atomic_compare_exchange_weak(&peak, &seen, now))
        ;
    return p;
}

void *__wrap_malloc(size_t size)
{
    return counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
    atomic_fetch_sub(&live, (long)malloc_usable_size(p));
    return counted(__real_realloc(p, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return counted(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *p)
{
    atomic_fetch_sub(&live, (long)malloc_usable_size(p));
    __real_free(p);
}

/* One after the other: x -> a x + b. Three operations. */
static int compose(fad_tape *t, const fad_real *l, const fad_real *r, fad_real *out, void *user)
{
    (void)user;
    out[0] = fad_mul(t, l[0], r[0]);
    out[1] = fad_add(t, fad_mul(t, l[0], r[1]), l[1]);
    return 0;
}

enum { N = 1000000, W = 2, OPERATIONS = 3 };

static double measure(fad_pool *pool, const struct fad_reduce *r, double *gradient)
{
    double y[W];
    long before = atomic_load(&live);
    atomic_store(&peak, before);
    assert_int_equal(fad_reduce_gradient(pool, r, NULL, y, NULL, gradient), 0);
    return (double)(atomic_load(&peak) - before);
}

/* What each worker has comes on top, three times 33 bytes for 5 operations and inputs and 3 times 72 an element of a leaf; and
 * the allocator's own rounding, 16 bytes a block. */
static void a_general_monoid(void **state)
{
    double *x = malloc(2 * N * sizeof *x), *g = malloc(2 * N * sizeof *g);
    const struct fad_part part = {.width = W, .combine = compose};
    struct fad_reduce r = {.of = {.terms = N, .x = x, .x_count = 2, .leaf = 512}, .parts = &part, .part_count = 1};
    double m = (N + 511) / 512, workers = 2;
    (void)state;
    for (size_t i = 0; i < 2 * N; i++)
        x[i] = 0.5;
    double always = 32 * m * W + 16.0 * N + 4 * m;
    double store = always + 24.0 * OPERATIONS * N + (2 * m - 1) * (56 + 4 * W) + (m - 1) * 24 * OPERATIONS;
    double slack = workers * 512 * 3 * (33 * 5 + 72) + 2 * m * 16 + 65536;
    r.recompute = true;
    double recomputed = measure(pool_with(2), &r, g);
    r.recompute = false;
    double stored = measure(pool_with(2), &r, g) + 16.0 * N; /* x's gradient is built where it was built before */
    printf("n = %d, leaf 512: store %.0f bytes (formula %.0f), recompute %.0f (formula %.0f)\n", N, stored, store, recomputed,
           always);
    assert_true(stored >= store - 2 * 24 * OPERATIONS * m && stored <= store + slack);
    assert_true(recomputed >= 16.0 * N && recomputed <= always + slack);
    free(x);
    free(g);
}

/* Nothing is recorded, so nothing is stored. */
static void a_built_in_part(void **state)
{
    double *x = malloc(N * sizeof *x), *g = malloc(N * sizeof *g);
    struct fad_reduce r = {.of = {.terms = N, .x = x, .x_count = 1, .leaf = 512}, .parts = &(struct fad_part){.kind = FAD_PART_PRODUCT},
                           .part_count = 1};
    double m = (N + 511) / 512;
    (void)state;
    for (size_t i = 0; i < N; i++)
        x[i] = 1;
    double bytes = measure(pool_with(2), &r, g);
    printf("n = %d, leaf 512, product: %.0f bytes beside x's gradient (formula %.0f)\n", N, bytes, 32 * m);
    assert_true(bytes <= 32 * m + 65536);
    free(x);
    free(g);
}

static int done(void **state)
{
    (void)state;
    pools_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_general_monoid), cmocka_unit_test(a_built_in_part)};
    return cmocka_run_group_tests(tests, NULL, done);
}
