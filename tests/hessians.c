/* Hessians of whole models: logistic regression with 20 parameters, a Gaussian mixture of 5 components in 2 dimensions.
 * Against differences of gradients, symmetric, and the same bits for any number of workers. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "examples/gmm_file.h"
#include "tests/ad_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = 20, ROWS = 150, D = 2, K = 5, GMM = K + K * D + K * 3 };

/* x: the features, and the class 0 or 1: log(1 + e^z) - c z */
static int logistic(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    (void)k, (void)user;
    fad_real z = fad_dot(t, FEATURES, x, a);
    *y = fad_sub(t, fad_log1pexp(t, z), fad_mul(t, x[FEATURES], z));
    return 0;
}

/* -log sum_c e^(alpha_c + log diagonal - |L (x - mu)|^2 / 2), without the normalisation of alpha: parameters are alpha[K],
 * mu[K][2], and of each lower triangle the logarithms of the diagonal and the entry below it. */
static int mixture(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    fad_real e[K];
    (void)k, (void)user;
    for (unsigned c = 0; c < K; c++) {
        const fad_real *mu = a + K + c * D, *l = a + K + K * D + c * 3;
        fad_real d0 = fad_sub(t, x[0], mu[0]), d1 = fad_sub(t, x[1], mu[1]);
        fad_real q[2] = {fad_mul(t, fad_exp(t, l[0]), d0), fad_fma(t, l[2], d0, fad_mul(t, fad_exp(t, l[1]), d1))};
        fad_real size = fad_mul(t, 0.5, fad_dot(t, 2, q, q));
        e[c] = fad_sub(t, fad_add(t, a[c], fad_add(t, l[0], l[1])), size);
    }
    *y = fad_sub(t, fad_logsumexp(t, K, a), fad_logsumexp(t, K, e));
    return 0;
}

struct model {
    struct fad_sum s;
    double shared[GMM], x[ROWS * (FEATURES + 1)];
};

static void make(struct model *m, bool gmm)
{
    struct dice d = {gmm ? 5 : 6};
    memset(m, 0, sizeof *m);
    m->s.terms = ROWS;
    m->s.leaf = 8;
    m->s.grain = 1;
    m->s.shared = m->shared;
    m->s.shared_count = gmm ? GMM : FEATURES;
    m->s.x = m->x;
    m->s.x_count = gmm ? D : FEATURES + 1;
    m->s.term = gmm ? mixture : logistic;
    for (unsigned i = 0; i < GMM; i++)
        m->shared[i] = dice_between(&d, -1, 1);
    for (unsigned i = 0; i < ROWS * (FEATURES + 1); i++)
        m->x[i] = !gmm && i % (FEATURES + 1) == FEATURES ? (double)dice_below(&d, 2) : dice_between(&d, -1, 1);
}

static double largest(const double *h, size_t count)
{
    double v = 0;
    for (size_t i = 0; i < count; i++)
        v = fabs(h[i]) > v ? fabs(h[i]) : v;
    return v;
}

/* Column j of the Hessian by differences of fourth order of gradients. */
static void by_differences(struct model *m, size_t j, double step, double *column)
{
    static const double at[] = {1, -1, 2, -2};
    double g[4][GMM], here = m->shared[j];
    for (unsigned i = 0; i < 4; i++) {
        m->shared[j] = here + at[i] * step;
        assert_int_equal(fad_sum_gradient(NULL, &m->s, NULL, g[i], NULL), 0);
    }
    m->shared[j] = here;
    for (size_t i = 0; i < m->s.shared_count; i++)
        column[i] = (8 * (g[0][i] - g[1][i]) - (g[2][i] - g[3][i])) / (12 * step);
}

/* The error of the step h / 2 is a fifteenth of the difference to that of h while higher orders do not matter; rounding of
 * gradients, some 100 u of sums of up to 1,000 numbers of size 10, over h = 2^-10, is below 1e-8 of the largest entry, which
 * is above 10. */
static void check(struct model *m)
{
    size_t count = m->s.shared_count;
    double *h = malloc(count * count * sizeof *h), *columns = malloc(count * count * sizeof *columns);
    double v[GMM * GMM] = {0}, coarse[GMM], fine[GMM], plain[GMM], value[2], other[GMM];
    assert_int_equal(fad_sum_hessian(pool_with(3), &m->s, value, plain, h), 0);
    double size = largest(h, count * count);
    for (size_t j = 0; j < count; j++) {
        by_differences(m, j, 0x1p-9, coarse);
        by_differences(m, j, 0x1p-10, fine);
        v[j * count + j] = 1;
        for (size_t i = 0; i < count; i++) {
            if (!(fabs(fine[i] - h[j * count + i]) <= fabs(fine[i] - coarse[i]) + 1e-8 * size))
                fail_msg("entry %zu, %zu is %.17g, by differences %.17g and %.17g", j, i, h[j * count + i], fine[i], coarse[i]);
            assert_memory_equal(h + j * count + i, h + i * count + j, sizeof *h);
        }
    }
    assert_int_equal(fad_sum_gradient(NULL, &m->s, value + 1, other, NULL), 0);
    assert_true(same_bits(value, value + 1, sizeof *value) && same_bits(plain, other, count * sizeof(double)));
    /* what the hessian is the mean of */
    assert_int_equal(fad_sum_hvp_many(NULL, &m->s, count, v, NULL, NULL, columns), 0);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(fabs(columns[i * count + j] - columns[j * count + i]) <= 1e-12 * size);
    /* one at a time, and any number of workers: the same bits */
    for (unsigned workers = 1; workers <= 16; workers = workers * 3 / 2 + 1) {
        for (size_t j = workers % 3; j < count; j += 3) {
            double one[GMM];
            assert_int_equal(fad_sum_hvp(pool_with(workers), &m->s, v + j * count, NULL, NULL, one), 0);
            assert_true(same_bits(one, columns + j * count, count * sizeof *one));
        }
        double *again = malloc(count * count * sizeof *again);
        assert_int_equal(fad_sum_hessian(pool_with(workers), &m->s, NULL, NULL, again), 0);
        assert_true(same_bits(again, h, count * count * sizeof *h));
        free(again);
    }
    free(columns);
    free(h);
}

static void logistic_regression(void **state)
{
    struct model m;
    (void)state;
    make(&m, false);
    check(&m);
}

static void gaussian_mixture(void **state)
{
    struct model m;
    (void)state;
    make(&m, true);
    check(&m);
}

/* The published problem of this size, 1,000 points. */
static void published_mixture(void **state)
{
    const char *source = getenv("srcdir");
    char path[4096];
    struct gmm_problem p;
    struct complaint why;
    struct model m;
    (void)state;
    snprintf(path, sizeof path, "%s/../shared/data/adbench-gmm/gmm_d2_K5.txt", source ? source : ".");
    FILE *there = fopen(path, "r");
    if (!there) {
        print_message("no %s\n", path);
        skip();
    }
    fclose(there);
    assert_true(gmm_load(path, &p, &why));
    assert_true(p.dimension == D && p.components == K && p.parameters == GMM);
    make(&m, true);
    memcpy(m.shared, p.parameter, sizeof m.shared);
    m.s.x = p.point;
    m.s.terms = p.points;
    check(&m);
    gmm_release(&p);
}

/* Fixed parameters and those that no element touches: rows and columns of exact zeros. */
static void fixed_and_untouched(void **state)
{
    struct model m;
    unsigned char fixed[FEATURES] = {0};
    double h[FEATURES * FEATURES];
    (void)state;
    make(&m, false);
    fixed[3] = fixed[19] = 1;
    m.s.shared_fixed = fixed;
    assert_int_equal(fad_sum_hessian(NULL, &m.s, NULL, NULL, h), 0);
    for (unsigned i = 0; i < FEATURES; i++)
        for (unsigned j = 0; j < FEATURES; j++)
            assert_true((h[i * FEATURES + j] == 0) == (fixed[i] || fixed[j]));
}

static int touching(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    (void)k, (void)x, (void)user;
    y[0] = fad_mul(t, a[0], fad_square(t, a[1]));
    y[1] = fad_mul(t, a[0], a[0]);
    return 0;
}

/* Many parameters of which each element touches two, and two values. */
static void touched_pages(void **state)
{
    enum { P = 3000, N = 40 };
    double *all = calloc(9 * P, sizeof *all), *shared = all, *v = all + P, *product = all + 2 * P, *expected = all + 4 * P;
    uint32_t touch[2 * N];
    struct fad_sum s;
    (void)state;
    memset(&s, 0, sizeof s);
    s.terms = N;
    s.leaf = 4;
    s.shared = shared;
    s.shared_count = P;
    s.touch = touch;
    s.touch_count = 2;
    s.y_count = 2;
    s.term = touching;
    for (unsigned j = 0; j < P; j++) {
        shared[j] = j % 7 - 3.0;
        v[j] = j % 5 - 2.0;
    }
    for (unsigned k = 0; k < N; k++) {
        uint32_t a = touch[2 * k] = k * 73, b = touch[2 * k + 1] = k * 73 + 1;
        expected[a] += 2 * shared[b] * v[b];
        expected[b] += 2 * shared[b] * v[a] + 2 * shared[a] * v[b];
        expected[P + a] += 2 * v[a];
    }
    for (unsigned workers = 0; workers <= 4; workers += 2) {
        pattern_fill(product, 2 * P * sizeof *product);
        assert_int_equal(fad_sum_hvp(workers ? pool_with(workers) : NULL, &s, v, NULL, NULL, product), 0);
        for (unsigned j = 0; j < 2 * P; j++)
            assert_true(product[j] == expected[j]);
    }
    free(all);
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
        cmocka_unit_test(logistic_regression),
        cmocka_unit_test(gaussian_mixture),
        cmocka_unit_test(published_mixture),
        cmocka_unit_test(fixed_and_untouched),
        cmocka_unit_test(touched_pages),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
