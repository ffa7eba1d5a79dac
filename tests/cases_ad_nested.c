/* Faults that users of other systems have reported: sums inside terms (A5, A6, S6), and recordings that stay behind
 * (A15, A21). Expected numbers are small and whole, so that they are exact. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/ad_support.h"

#include <math.h>
#include <string.h>
#include <time.h>

static const unsigned worker_counts[] = {1, 2, 3, 4, 8, 16};
#define COUNTS (sizeof worker_counts / sizeof *worker_counts)

static struct fad_sum describe(size_t n, fad_term *term, size_t shared_count, const double *shared)
{
    struct fad_sum s;
    memset(&s, 0, sizeof s);
    s.terms = n;
    s.term = term;
    s.shared_count = shared_count;
    s.shared = shared;
    return s;
}

static int times_index(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    (void)x;
    (void)user;
    *y = fad_mul(t, a[0], (double)(k + 1));
    return 0;
}

/* ---- A6: before anything else in this process ---- */

struct nested {
    fad_pool *pool;
    size_t n;
    bool gradient; /* the inner call */
};

/* theta times the value of an inner sum of ones, and of an inner gradient, which is the same. */
static int nested_term(fad_tape *t, size_t k, const fad_real *theta, const fad_real *x, fad_real *y, void *user)
{
    const struct nested *in = user;
    double one = 1, value = 0, gradient = 0;
    struct fad_sum s = describe(in->n, times_index, 1, &one);
    (void)x;
    s.leaf = 1 + k % 5;
    int rc = in->gradient ? fad_sum_gradient(in->pool, &s, &value, &gradient, NULL) : fad_sum_value(in->pool, &s, &value);
    if (rc)
        return rc;
    if (in->gradient && gradient != value)
        return 77;
    *y = fad_mul(t, theta[0], value);
    return 0;
}

/* A6: the very first call in the process is a gradient inside a gradient. main runs it before cmocka. */
static bool first_call_is_nested(void)
{
    double theta = 3, value = 0, gradient = 0;
    struct nested in = {pool_with(4), 100, true};
    struct fad_sum s = describe(100, nested_term, 1, &theta);
    s.user = &in;
    return fad_sum_gradient(in.pool, &s, &value, &gradient, NULL) == 0 && gradient == 100 * 5050.0 && value == 3 * gradient;
}

static bool a6_result;

static void a6_first_call(void **state)
{
    (void)state;
    assert_true(a6_result);
}

/* ---- A5, S6 ---- */

/* A5: a fold of 100 folds over 100 ones, each times theta; by values and by gradients, on any two pools. */
static void a5_nested_folds(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNTS; i++)
        for (size_t inner = 0; inner < 2 * COUNTS; inner++) {
            double theta = 2, value, g;
            struct nested in = {pool_with(worker_counts[inner / 2]), 100, inner % 2};
            struct fad_sum s = describe(100, nested_term, 1, &theta);
            s.user = &in;
            s.grain = 1;
            assert_int_equal(fad_sum_gradient(pool_with(worker_counts[i]), &s, &value, &g, NULL), 0);
            assert_true(g == 505000 && value == 1010000);
        }
}

struct mixed {
    fad_pool *pool;
    const double *weights;
};

static int inner_mixed(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    const double *w = user;
    (void)x;
    stall(mix(k, (uint64_t)(w[0] * 1e6)));
    *y = fad_exp(t, fad_mul(t, fad_sin(t, fad_mul(t, a[0], w[k % 7])), a[1]));
    return 0;
}

/* Records before, between and after inner gradients, and uses their results as plain numbers. */
static int outer_mixed(fad_tape *t, size_t k, const fad_real *theta, const fad_real *x, fad_real *y, void *user)
{
    const struct mixed *m = user;
    fad_real s = fad_mul(t, theta[k % 3], x[0]);
    for (int i = 0; i < 2; i++) {
        double at[2] = {fad_value(t, s), fad_value(t, theta[0])}, value, g[2];
        struct fad_sum inner = describe(100, inner_mixed, 2, at);
        inner.user = (void *)(uintptr_t)m->weights;
        inner.leaf = 4;
        inner.grain = 1;
        int rc = fad_sum_gradient(m->pool, &inner, &value, g, NULL);
        if (rc)
            return rc;
        s = fad_add(t, fad_mul(t, s, 1 / (1 + fabs(value))), fad_mul(t, g[1], theta[(k + 1) % 3]));
    }
    *y = fad_mul(t, s, s);
    return 0;
}

/* S6: a worker that waits in an inner join records nothing on the wrong tape. 10,000 outer terms, 100 inner ones twice. */
static void s6_wrong_tape(void **state)
{
    enum { N = 400, RUNS = 25 };
    double theta[] = {0.3, -0.7, 1.1}, x[N], gx[N], expected_x[N], value, expected_value, g[3], expected[3];
    const double weights[] = {0.1, 0.2, -0.3, 0.5, 0.7, -1.1, 1.3};
    struct mixed m = {NULL, weights};
    struct fad_sum s = describe(N, outer_mixed, 3, theta);
    (void)state;
    for (size_t k = 0; k < N; k++)
        x[k] = 0.01 * (double)(k % 50);
    s.x = x;
    s.x_count = 1;
    s.user = &m;
    s.leaf = 4;
    s.grain = 1;
    assert_int_equal(fad_sum_gradient(NULL, &s, &expected_value, expected, expected_x), 0);
    for (unsigned run = 0; run < RUNS; run++) {
        m.pool = pool_with(worker_counts[run % COUNTS]);
        assert_int_equal(fad_sum_gradient(run % 5 == 4 ? NULL : m.pool, &s, &value, g, gx), 0);
        assert_true(is_bits(value, expected_value) && same_bits(g, expected, sizeof g) &&
                    same_bits(gx, expected_x, sizeof gx));
    }
}

/* ---- A15, A21 ---- */

/* Growth of the process that is no leak: a leaking run of these tests grows by more than 100 MB. */
#define RESIDENT_SLACK ((size_t)64 << 20)

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int growing(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    fad_real s = fad_mul(t, a[0], x[0]), *more = fad_alloc(t, 300);
    (void)k;
    (void)user;
    for (int i = 0; i < 300; i++)
        more[i] = s = fad_add(t, fad_mul(t, s, 0.5), a[i % 2]);
    *y = fad_dot(t, 300, more, more);
    return 0;
}

/* A15: 1,000 gradients in a loop, with and without a pool, and on a tape that is rewound: memory and time stay flat. */
static void a15_flat(void **state)
{
    enum { N = 32 };
    double shared[2] = {0.5, 0.25}, x[N] = {0}, g[2], gx[N], value, early = 1e9, late = 1e9;
    struct fad_sum s = describe(N, growing, 2, shared);
    size_t before = 0, resident_before = 0;
    (void)state;
    s.x = x;
    s.x_count = 1;
    fad_tape *t = fad_tape_create();
    for (int i = 0; i < 1000; i++) {
        double start = seconds(), slope;
        assert_int_equal(fad_sum_gradient(i % 2 ? pool_with(4) : NULL, &s, &value, g, gx), 0);
        fad_tape_rewind(t, NULL);
        fad_real a[2] = {fad_input(t, 1), fad_input(t, 2)}, y;
        growing(t, 0, a, a, &y, NULL);
        assert_int_equal(fad_tape_reverse(t, y, 1, 1, a, &slope), 0);
        double took = seconds() - start;
        /* the fastest of many: other programs on the machine only ever make one slower. Without a pool: how much of the
         * work other workers take off this thread is another thing each time. */
        early = i % 2 == 0 && i < 300 && took < early ? took : early;
        late = i % 2 == 0 && i >= 700 && took < late ? took : late;
        if (i == 100) {
            before = heap_in_use();
            resident_before = resident();
        }
    }
    assert_true(resident() <= resident_before + RESIDENT_SLACK);
    size_t after = heap_in_use();
    fad_tape_destroy(t);
    /* every worker may still get its first tape (1,024 operations of 24 + 8 bytes and the like) after run 100 */
    if (after > before + 4 * (size_t)(128 << 10))
        fail_msg("%zu bytes, then %zu", before, after);
    if (late > 3 * early)
        fail_msg("%g s, then %g s", early, late);
}

static int failing(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    fad_real s = a[0];
    (void)x;
    (void)y;
    for (int i = 0; i < 1000; i++)
        s = fad_add(t, fad_mul(t, s, a[0]), fad_alloc(t, 3) ? 1 : 0);
    if (k == *(const size_t *)user)
        return 9;
    *y = s;
    return 0;
}

/* A21: a term that fails after 1,000 recorded operations, 10,000 times: flat memory, and everything works after it. */
static void a21_failing_recordings(void **state)
{
    double a = 0.5, value, g, expected_value, expected;
    size_t bad = 2, before = 0, resident_before = 0;
    struct fad_failure why;
    struct fad_sum s = describe(3, failing, 1, &a);
    fad_tape *t = fad_tape_create();
    (void)state;
    s.user = &bad;
    s.leaf = 1;
    for (int i = 0; i < 10000; i++) {
        fad_pool *pool = i % 64 == 0 ? pool_with(3) : NULL;
        s.failure = i % 2 ? &why : NULL;
        value = g = 42;
        assert_int_equal(fad_sum_gradient(pool, &s, &value, &g, NULL), 9);
        assert_true(value == 42 && g == 42 && (i % 2 == 0 || (why.index == 2 && why.code == 9)));
        if (i % 10 == 0) { /* and a user's tape that is told to fail */
            fad_tape_rewind(t, NULL);
            fad_real x = fad_input(t, 1), y = fad_const(0);
            assert_int_equal(failing(t, 1, &x, NULL, &y, &bad), 0);
            fad_fail(t, 5);
            assert_int_equal(fad_tape_reverse(t, y, 1, 1, &x, &g), 5);
        }
        if (i == 1000) {
            before = heap_in_use();
            resident_before = resident();
        }
    }
    assert_true(resident() <= resident_before + RESIDENT_SLACK);
    /* two more workers may get their first tape late */
    assert_true(heap_in_use() <= before + 3 * (size_t)(128 << 10));
    bad = 99;
    assert_int_equal(fad_sum_gradient(NULL, &s, &expected_value, &expected, NULL), 0);
    assert_int_equal(fad_sum_gradient(pool_with(3), &s, &value, &g, NULL), 0);
    assert_true(is_bits(value, expected_value) && is_bits(g, expected));
    fad_tape_destroy(t);
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
        cmocka_unit_test(a6_first_call), cmocka_unit_test(a5_nested_folds), cmocka_unit_test(s6_wrong_tape),
        cmocka_unit_test(a15_flat),      cmocka_unit_test(a21_failing_recordings),
    };
    a6_result = first_call_is_nested();
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
