/* Folds with derivatives: built-in parts against closed forms and against the same folds recorded operation by operation;
 * store and recompute, value and gradient, any number of workers: the same bits. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/ad_support.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPS (DBL_EPSILON / 2)
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static double *numbers(size_t n, double low, double high, uint64_t seed)
{
    struct dice d = {seed};
    double *x = malloc((n + 1) * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = dice_between(&d, low, high);
    return x;
}

static struct fad_reduce plain_fold(const double *x, size_t n, const struct fad_part *part)
{
    return (struct fad_reduce){.of = {.terms = n, .x = x, .x_count = 1}, .parts = part, .part_count = 1};
}

/* gradient[0 .. n - 1] of result `of`, value of it. */
static double differentiate(unsigned workers, const struct fad_reduce *r, size_t of, double *gradient)
{
    double seed[8] = {0}, y[8];
    assert_true(fad_reduce_results(r) <= COUNT(y));
    seed[of] = 1;
    assert_int_equal(fad_reduce_gradient(workers ? pool_with(workers) : NULL, r, seed, y, NULL, gradient), 0);
    return y[of];
}

static void near(double v, double expected, double bound)
{
    if (!(fabs(v - expected) <= bound))
        fail_msg("%.17g is not %.17g within %g", v, expected, bound);
}

/* ---- Closed forms, a million elements ---- */

enum { MILLION = 1000000 };

/* Factors near 1, so that the product stays in range: error of a product of n factors n EPS, relative. */
static void product_of_many(void **state)
{
    double *x = numbers(MILLION, 0.998, 1.002, 1), *g = malloc(MILLION * sizeof *g);
    struct fad_reduce r = plain_fold(x, MILLION, &(struct fad_part){.kind = FAD_PART_PRODUCT});
    long double p = 1;
    double bound = 2.0 * MILLION * EPS;
    (void)state;
    for (size_t i = 0; i < MILLION; i++)
        p *= x[i];
    near(differentiate(2, &r, 0, g) / (double)p, 1, bound);
    for (size_t i = 0; i < MILLION; i++)
        near(g[i] / (double)(p / x[i]), 1, bound);
    free(x);
    free(g);
}

static void max_of_many(void **state)
{
    double *x = numbers(MILLION, -1, 1, 2), *g = malloc(MILLION * sizeof *g);
    struct fad_part parts[] = {{.kind = FAD_PART_MAX}, {.kind = FAD_PART_ARGMAX}, {.kind = FAD_PART_MIN}, {.kind = FAD_PART_ARGMIN}};
    struct fad_reduce r = plain_fold(x, MILLION, parts);
    double y[4], seed[] = {1, 5, -3, 7};
    size_t high = 0, low = 0;
    (void)state;
    r.part_count = 4;
    for (size_t i = 0; i < MILLION; i++) {
        high = x[i] > x[high] ? i : high;
        low = x[i] < x[low] ? i : low;
    }
    assert_int_equal(fad_reduce_gradient(pool_with(2), &r, seed, y, NULL, g), 0);
    assert_true(y[0] == x[high] && y[1] == (double)high && y[2] == x[low] && y[3] == (double)low);
    for (size_t i = 0; i < MILLION; i++)
        assert_true(g[i] == (i == high ? 1 : i == low ? -3 : 0));
    free(x);
    free(g);
}

/* A sum in lanes and a tree: an addition's depth is at most leaf / 8 + 3 + log2(leaves) < 160; each term's e^v is within
 * 1 ulp of an argument that is off by EPS |v - largest|, at most 30 EPS here. */
static void logsumexp_of_many(void **state)
{
    double *x = numbers(MILLION, -10, 20, 3), *g = malloc(MILLION * sizeof *g);
    struct fad_reduce r = plain_fold(x, MILLION, &(struct fad_part){.kind = FAD_PART_LOGSUMEXP});
    long double sum = 0;
    double bound = 300 * EPS;
    (void)state;
    for (size_t i = 0; i < MILLION; i++)
        sum += expl((long double)x[i] - 20);
    near(differentiate(2, &r, 0, g), (double)(20 + logl(sum)), bound + 40 * EPS);
    for (size_t i = 0; i < MILLION; i++)
        near(g[i] / (double)(expl((long double)x[i] - 20) / sum), 1, bound);
    free(x);
    free(g);
}

/* Numbers in [a, a + 1]: means have an error of 160 EPS times the largest, a deviation has that, and so has the gradient on
 * its scale 2 / n. The mean's error enters the variance in its square. */
static void variance_of_many(void **state)
{
    double *x = numbers(MILLION, 3, 4, 4), *g = malloc(MILLION * sizeof *g);
    struct fad_part part = {.kind = FAD_PART_MEAN_VARIANCE, .dof = 1};
    struct fad_reduce r = plain_fold(x, MILLION, &part);
    long double mean = 0, squares = 0;
    double off = 160 * EPS * 4;
    (void)state;
    for (size_t i = 0; i < MILLION; i++)
        mean += (long double)x[i] / MILLION;
    for (size_t i = 0; i < MILLION; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    near(differentiate(2, &r, 0, g), (double)mean, off);
    for (size_t i = 0; i < MILLION; i++)
        near(g[i] * MILLION, 1, 8 * EPS);
    near(differentiate(2, &r, 1, g), (double)(squares / (MILLION - 1)), 160 * EPS + off * off);
    for (size_t i = 0; i < MILLION; i++)
        near(g[i] * (MILLION - 1) / 2, (double)(x[i] - mean), 3 * off);
    free(x);
    free(g);
}

/* ---- Built-in parts and the same by recorded combines ---- */

static int multiply(fad_tape *t, const fad_real *a, const fad_real *b, fad_real *out, void *user)
{
    (void)user;
    *out = fad_mul(t, *a, *b);
    return 0;
}

static int larger(fad_tape *t, const fad_real *a, const fad_real *b, fad_real *out, void *user)
{
    (void)user;
    *out = fad_max(t, *a, *b);
    return 0;
}

static int smaller(fad_tape *t, const fad_real *a, const fad_real *b, fad_real *out, void *user)
{
    (void)user;
    *out = fad_min(t, *a, *b);
    return 0;
}

static int soft(fad_tape *t, const fad_real *a, const fad_real *b, fad_real *out, void *user)
{
    (void)user;
    *out = fad_logsumexp(t, 2, (fad_real[]){*a, *b});
    return 0;
}

/* Chan's formula on states (n, mean, squares). */
static int moments(fad_tape *t, const fad_real *a, const fad_real *b, fad_real *out, void *user)
{
    fad_real n = fad_add(t, a[0], b[0]), d = fad_sub(t, b[1], a[1]);
    (void)user;
    out[0] = n;
    out[1] = fad_add(t, a[1], fad_mul(t, d, fad_div(t, b[0], n)));
    out[2] = fad_add(t, fad_add(t, a[2], b[2]),
                     fad_mul(t, fad_square(t, d), fad_div(t, fad_mul(t, a[0], b[0]), n)));
    return 0;
}

/* Ties of all kinds: few different values. Chains and trees of fad_max are what the built-in one is defined by. */
static void extremes_are_chains(void **state)
{
    (void)state;
    for (size_t n = 1; n < 200; n += 1 + n / 9)
        for (size_t leaf = 1; leaf < 64; leaf = 2 * leaf + 1)
            for (int min = 0; min < 2; min++) {
                double x[200], a[200], b[200], ya, yb;
                struct dice d = {n * 64 + leaf};
                for (size_t i = 0; i < n; i++)
                    x[i] = (double)dice_below(&d, 3) - 1;
                if (leaf % 4 == 3 && n > 20)
                    x[n / 2] = x[n - 3] = NAN;
                struct fad_reduce r = plain_fold(x, n, &(struct fad_part){.kind = min ? FAD_PART_MIN : FAD_PART_MAX});
                struct fad_reduce g = plain_fold(x, n, &(struct fad_part){.width = 1, .combine = min ? smaller : larger});
                r.of.leaf = g.of.leaf = leaf;
                ya = differentiate(0, &r, 0, a);
                yb = differentiate(0, &g, 0, b);
                assert_true(is_bits(ya, yb));
                assert_true(same_bits(a, b, n * sizeof *a));
            }
}

static void three_equal_ones(void **state)
{
    double x[] = {7, 7, 7, 1}, g[4];
    struct fad_reduce r = plain_fold(x, 4, &(struct fad_part){.kind = FAD_PART_MAX});
    (void)state;
    r.of.leaf = 4;
    assert_true(differentiate(0, &r, 0, g) == 7);
    assert_true(g[0] == 0.25 && g[1] == 0.25 && g[2] == 0.5 && g[3] == 0);
    r.of.leaf = 2;
    differentiate(0, &r, 0, g);
    assert_true(g[0] == 0.25 && g[1] == 0.25 && g[2] == 0.5 && g[3] == 0);
    x[3] = 7;
    differentiate(0, &r, 0, g);
    assert_true(g[0] == 0.25 && g[1] == 0.25 && g[2] == 0.25 && g[3] == 0.25);
}

/* Small whole numbers and zeros: every product is exact, whatever the order. */
static void products_with_zeros(void **state)
{
    (void)state;
    for (size_t zeros = 0; zeros < 4; zeros++)
        for (size_t leaf = 1; leaf <= 64; leaf *= 2) {
            double x[64], g[64], b[64];
            struct dice d = {zeros + 8 * leaf};
            struct fad_reduce r = plain_fold(x, 64, &(struct fad_part){.kind = FAD_PART_PRODUCT});
            struct fad_reduce s = plain_fold(x, 64, &(struct fad_part){.width = 1, .combine = multiply});
            r.of.leaf = s.of.leaf = leaf;
            for (size_t i = 0; i < 64; i++)
                x[i] = dice_below(&d, 2) ? 2 : -0.5;
            for (size_t i = 0; i < zeros; i++)
                x[dice_below(&d, 64)] = 0;
            double p = differentiate(0, &r, 0, g);
            assert_true(is_bits(differentiate(0, &s, 0, b), p));
            assert_true(same_bits(g, b, sizeof g));
            for (size_t i = 0; i < 64; i++) {
                double others = 1;
                for (size_t j = 0; j < 64; j++)
                    others *= j == i ? 1 : x[j];
                assert_true(g[i] == others);
            }
        }
}

/* Twenty operations deep at most: 100 EPS relative to the largest gradient is far above their errors. */
static void the_rest_agrees_with_recordings(void **state)
{
    double *x = numbers(500, -3, 3, 9), a[500], b[500], own[1500] = {0};
    struct fad_reduce lse = plain_fold(x, 500, &(struct fad_part){.kind = FAD_PART_LOGSUMEXP}), lse2 = lse, var = lse, var2 = lse;
    struct fad_part soft_part = {.width = 1, .combine = soft}, var_part = {.kind = FAD_PART_MEAN_VARIANCE},
                    moments_part = {.width = 3, .combine = moments};
    (void)state;
    lse.of.leaf = lse2.of.leaf = var.of.leaf = 16;
    lse2.parts = &soft_part;
    near(differentiate(0, &lse, 0, a), differentiate(0, &lse2, 0, b), 100 * EPS);
    for (size_t i = 0; i < 500; i++)
        near(a[i], b[i], 100 * EPS);
    for (size_t i = 0; i < 500; i++) {
        own[3 * i] = 1;
        own[3 * i + 1] = x[i];
    }
    var.parts = &var_part;
    var2 = plain_fold(own, 500, &moments_part);
    var2.of.x_count = 3;
    var2.of.leaf = 16;
    double long_gradient[1500];
    near(differentiate(0, &var, 1, a) * 500, differentiate(0, &var2, 2, long_gradient), 500 * 100 * EPS);
    for (size_t i = 0; i < 500; i++)
        near(a[i] * 500, long_gradient[3 * i + 1], 1000 * EPS);
    free(x);
}

static void infinities_of_logsumexp(void **state)
{
    double g[6];
    struct fad_reduce r = {.parts = &(struct fad_part){.kind = FAD_PART_LOGSUMEXP}, .part_count = 1};
    const double none[] = {-INFINITY, -INFINITY, -INFINITY}, some[] = {-INFINITY, 0, -INFINITY, 0},
                 two[] = {1, INFINITY, 2, INFINITY, -INFINITY}, bad[] = {1, NAN, -INFINITY};
    (void)state;
    for (size_t leaf = 1; leaf < 5; leaf++) {
        r.of = (struct fad_sum){.terms = 3, .x = none, .x_count = 1, .leaf = leaf};
        assert_true(differentiate(0, &r, 0, g) == -INFINITY && g[0] == 0 && g[1] == 0 && g[2] == 0);
        r.of = (struct fad_sum){.terms = 4, .x = some, .x_count = 1, .leaf = leaf};
        near(differentiate(0, &r, 0, g), log(2), EPS);
        assert_true(g[0] == 0 && g[1] == 0.5 && g[2] == 0 && g[3] == 0.5);
        r.of = (struct fad_sum){.terms = 5, .x = two, .x_count = 1, .leaf = leaf};
        assert_true(differentiate(0, &r, 0, g) == INFINITY);
        assert_true(g[0] == 0 && g[1] == 0.5 && g[2] == 0 && g[3] == 0.5 && g[4] == 0);
        r.of = (struct fad_sum){.terms = 3, .x = bad, .x_count = 1, .leaf = leaf};
        assert_true(isnan(differentiate(0, &r, 0, g)) && isnan(g[0]) && isnan(g[1]) && isnan(g[2]));
    }
}

/* log(1 + tiny): what is not the largest one is not lost beside it. */
static void small_terms_of_logsumexp(void **state)
{
    double x[] = {-60, 0, -70, -50}, g[4];
    struct fad_reduce r = plain_fold(x, 4, &(struct fad_part){.kind = FAD_PART_LOGSUMEXP});
    long double rest = expl(-60) + expl(-70) + expl(-50);
    (void)state;
    for (r.of.leaf = 1; r.of.leaf < 5; r.of.leaf++)
        near(differentiate(0, &r, 0, g) / (double)rest, 1, 8 * EPS);
}

static void no_elements(void **state)
{
    double id[] = {4, 5}, y[12];
    struct fad_part parts[] = {{.kind = FAD_PART_SUM}, {.kind = FAD_PART_PRODUCT}, {.kind = FAD_PART_MAX}, {.kind = FAD_PART_MIN},
        {.kind = FAD_PART_ARGMAX}, {.kind = FAD_PART_LOGSUMEXP}, {.kind = FAD_PART_MEAN_VARIANCE},
        {.width = 2, .combine = moments, .identity = id}, {.width = 1, .combine = multiply}, {.kind = FAD_PART_ARGMIN}};
    struct fad_reduce r = {.of = {.x_count = 3}, .parts = parts, .part_count = COUNT(parts)};
    (void)state;
    assert_int_equal(fad_reduce_results(&r), 12);
    assert_int_equal(fad_reduce_gradient(NULL, &r, NULL, y, NULL, NULL), 0);
    assert_true(y[0] == 0 && y[1] == 1 && y[2] == -INFINITY && y[3] == INFINITY && y[4] == -1 && y[5] == -INFINITY);
    assert_true(isnan(y[6]) && isnan(y[7]) && y[8] == 4 && y[9] == 5 && y[10] == 0 && y[11] == -1);
}

/* ---- All at once: terms, shared parameters, several parts, finish ---- */

/* values: a x0, b + x1 e^(c x0), x2 */
static int term(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *v, void *user)
{
    fad_real *memory = fad_alloc(t, 2);
    (void)user;
    if (!memory)
        return FAD_ENOMEM;
    memory[0] = fad_exp(t, fad_mul(t, s[2], x[0]));
    v[0] = fad_mul(t, s[0], x[0]);
    v[1] = fad_dot(t, 2, (fad_real[]){s[1], memory[0]}, (fad_real[]){fad_const(1), x[1]});
    v[2] = k % 7 ? x[2] : s[0];
    return 0;
}

/* A 2 x 2 upper triangular matrix product in two values: associative and not commutative. */
static int affine(fad_tape *t, const fad_real *a, const fad_real *b, fad_real *out, void *user)
{
    (void)user;
    out[0] = fad_mul(t, a[0], b[0]);
    out[1] = fad_fma(t, a[0], b[1], a[1]);
    return 0;
}

static int ending(fad_tape *t, const fad_real *s, const fad_real *z, fad_real *y, void *user)
{
    (void)user;
    y[0] = fad_add(t, fad_mul(t, s[1], fad_sum_of(t, 7, z)), fad_square(t, z[6]));
    y[1] = z[2];
    return 0;
}

static const struct fad_part rich_parts[] = {
    {.kind = FAD_PART_LOGSUMEXP, .column = 1},
    {.width = 2, .column = 0, .combine = affine},
    {.kind = FAD_PART_MEAN_VARIANCE, .column = 2},
    {.kind = FAD_PART_WEIGHTED_SUM, .column = 0, .weight = 2},
    {.kind = FAD_PART_MAX, .column = 1},
};
static const double rich_shared[] = {0.9, 0.3, -0.2};

static struct fad_reduce rich(const double *x, size_t n, size_t leaf, bool recompute)
{
    return (struct fad_reduce){
        .of = {.terms = n, .x = x, .x_count = 3, .shared_count = 3, .shared = rich_shared, .y_count = 3, .term = term, .leaf = leaf},
        .parts = rich_parts, .part_count = COUNT(rich_parts), .finish = ending, .y_count = 2, .recompute = recompute};
}

struct outcome {
    double y[2], shared[3], x[3 * 400];
};

static void all_ways_have_the_same_bits(void **state)
{
    double *x = numbers(1200, -0.9, 0.9, 11), seed[] = {1, 0.5}, y[2], shared[3], gx[1200];
    (void)state;
    for (size_t n = 1; n <= 400; n += 57)
        for (size_t leaf = 1; leaf < 100; leaf = 5 * leaf + 2) {
            struct outcome first, other;
            struct fad_reduce r = rich(x, n, leaf, false);
            pattern_fill(&first, sizeof first);
            assert_int_equal(fad_reduce_gradient(NULL, &r, seed, first.y, first.shared, first.x), 0);
            for (unsigned ways = 0; ways < 10; ways++) {
                static const unsigned workers[] = {0, 1, 2, 5, 16};
                r.recompute = ways % 2;
                pattern_fill(&other, sizeof other);
                assert_int_equal(fad_reduce_gradient(pool_with(workers[ways / 2]), &r, seed, other.y, other.shared, other.x), 0);
                assert_memory_equal(&first, &other, sizeof first);
                assert_int_equal(fad_reduce_value(pool_with(workers[ways / 2]), &r, y), 0);
                assert_memory_equal(first.y, y, sizeof y);
                assert_int_equal(fad_reduce_gradient(NULL, &r, seed, NULL, shared, NULL), 0);
                assert_memory_equal(first.shared, shared, sizeof shared);
                assert_int_equal(fad_reduce_gradient(NULL, &r, seed, NULL, NULL, gx), 0);
                assert_memory_equal(first.x, gx, 3 * n * sizeof *gx);
            }
        }
    free(x);
}

/* The same on one tape of the user's, in the same order where order matters. */
static void one_tape_says_the_same(void **state)
{
    enum { N = 40 };
    double *x = numbers(3 * N, -0.9, 0.9, 12), seed[] = {1, 0.5}, y[2], shared[3], gx[3 * N], expected[3 + 3 * N];
    struct fad_reduce r = rich(x, N, 4, false);
    fad_tape *t = fad_tape_create();
    fad_real in[3 + 3 * N], v[N][3], z[7], out[2], column[N], mean, both[2];
    (void)state;
    for (size_t i = 0; i < 3 + 3 * N; i++)
        in[i] = fad_input(t, i < 3 ? rich_shared[i] : x[i - 3]);
    for (size_t k = 0; k < N; k++)
        assert_int_equal(term(t, k, in, in + 3 + 3 * k, v[k], NULL), 0);
    for (size_t k = 0; k < N; k++)
        column[k] = v[k][1];
    z[0] = fad_logsumexp(t, N, column);
    z[6] = v[0][1];
    both[0] = v[0][0];
    both[1] = v[0][1];
    z[5] = fad_mul(t, v[0][0], v[0][2]);
    for (size_t k = 1; k < N; k++) {
        fad_real next[2];
        affine(t, both, v[k], next, NULL);
        memcpy(both, next, sizeof both);
        z[5] = fad_fma(t, v[k][0], v[k][2], z[5]);
        z[6] = fad_max(t, z[6], v[k][1]);
    }
    z[1] = both[0];
    z[2] = both[1];
    for (size_t k = 0; k < N; k++)
        column[k] = v[k][2];
    mean = z[3] = fad_div(t, fad_sum_of(t, N, column), N);
    for (size_t k = 0; k < N; k++)
        column[k] = fad_square(t, fad_sub(t, v[k][2], mean));
    z[4] = fad_div(t, fad_sum_of(t, N, column), N);
    assert_int_equal(ending(t, in, z, out, NULL), 0);
    fad_real total = fad_add(t, out[0], fad_mul(t, 0.5, out[1]));
    assert_int_equal(fad_tape_reverse(t, total, 1, 3 + 3 * N, in, expected), 0);
    assert_int_equal(fad_reduce_gradient(NULL, &r, seed, y, shared, gx), 0);
    near(y[0], out[0].value, 1000 * EPS);
    near(y[1], out[1].value, 1000 * EPS);
    for (size_t j = 0; j < 3; j++)
        near(shared[j], expected[j], 10000 * EPS);
    for (size_t j = 0; j < 3 * N; j++)
        near(gx[j], expected[3 + j], 10000 * EPS);
    fad_tape_destroy(t);
    free(x);
}

/* ---- Layouts ---- */

static void layouts_of_x(void **state)
{
    enum { N = 50 };
    double *x = numbers(2 * N, -1, 1, 13), *wide = malloc(5 * N * sizeof *wide), g[2 * N], other[5 * N];
    size_t offsets[N + 1];
    struct fad_block blocks[N];
    struct fad_part parts[] = {{.kind = FAD_PART_PRODUCT}, {.kind = FAD_PART_LOGSUMEXP, .column = 1}, {.kind = FAD_PART_MEAN_VARIANCE}};
    struct fad_reduce r = {.of = {.terms = N, .x = x, .x_count = 2, .leaf = 8}, .parts = parts, .part_count = 3}, s = r;
    unsigned char fixed[] = {0, 1};
    (void)state;
    for (size_t k = 0; k < N; k++) {
        offsets[k] = 2 * k;
        wide[5 * k] = x[2 * k];
        wide[5 * k + 1] = x[2 * k + 1];
        blocks[k] = (struct fad_block){x + 2 * k, 2, k == 3 ? NULL : other + 2 * k};
    }
    offsets[N] = 2 * N;
    assert_int_equal(fad_reduce_gradient(NULL, &r, NULL, NULL, NULL, g), 0);
    s.of.x_offsets = offsets;
    assert_int_equal(fad_reduce_gradient(NULL, &s, NULL, NULL, NULL, other), 0);
    assert_memory_equal(g, other, sizeof g);
    memcpy(other, x, sizeof g); /* in place */
    s = r;
    s.of.x = other;
    assert_int_equal(fad_reduce_gradient(NULL, &s, NULL, NULL, NULL, other), 0);
    assert_memory_equal(g, other, sizeof g);
    s = r;
    s.of.x_blocks = blocks;
    pattern_fill(other, sizeof other);
    assert_int_equal(fad_reduce_gradient(NULL, &s, NULL, NULL, NULL, NULL), 0);
    assert_true(pattern_intact(other + 6, 2 * sizeof *other));
    memcpy(other + 6, g + 6, 2 * sizeof *g);
    assert_memory_equal(g, other, sizeof g);
    s = r;
    s.of.x = wide;
    s.of.x_stride = 5;
    pattern_fill(other, sizeof other);
    assert_int_equal(fad_reduce_gradient(NULL, &s, NULL, NULL, NULL, other), 0);
    for (size_t k = 0; k < N; k++) {
        assert_memory_equal(g + 2 * k, other + 5 * k, 2 * sizeof *g);
        assert_true(pattern_intact(other + 5 * k + 2, 3 * sizeof *g));
    }
    s = r;
    s.of.x_fixed = fixed;
    assert_int_equal(fad_reduce_gradient(NULL, &s, NULL, NULL, NULL, other), 0);
    for (size_t k = 0; k < N; k++)
        assert_true(is_bits(other[2 * k], g[2 * k]) && is_bits(other[2 * k + 1], 0));
    s = r;
    s.of.first = 10;
    s.of.count = 30;
    pattern_fill(other, sizeof other);
    assert_int_equal(fad_reduce_gradient(NULL, &s, NULL, NULL, NULL, other), 0);
    assert_true(pattern_intact(other, 20 * sizeof *other) && pattern_intact(other + 80, 20 * sizeof *other));
    r.of = (struct fad_sum){.terms = 30, .x = x + 20, .x_count = 2, .leaf = 8};
    assert_int_equal(fad_reduce_gradient(NULL, &r, NULL, NULL, NULL, g), 0);
    assert_memory_equal(g, other + 20, 60 * sizeof *g);
    free(x);
    free(wide);
}

static void default_leaf(void **state)
{
    double x = 0;
    struct fad_reduce r = plain_fold(&x, 1000000, &(struct fad_part){.kind = FAD_PART_SUM});
    (void)state;
    assert_int_equal(fad_reduce_leaf(&r), 1024);
    r.of.terms = 10000;
    assert_int_equal(fad_reduce_leaf(&r), 128);
    r.of.terms = 10;
    assert_int_equal(fad_reduce_leaf(&r), 64);
    r.parts = &(struct fad_part){.width = 1, .combine = multiply};
    assert_int_equal(fad_reduce_leaf(&r), 1);
    r.of.terms = 1000000;
    assert_int_equal(fad_reduce_leaf(&r), 128);
    r.of.term_operations = 1000000;
    assert_int_equal(fad_reduce_leaf(&r), 1);
    r.of.leaf = 77;
    assert_int_equal(fad_reduce_leaf(&r), 77);
    r.part_count = 0;
    assert_int_equal(fad_reduce_leaf(&r), 0);
    assert_int_equal(fad_reduce_results(&r), 0);
    assert_int_equal(fad_reduce_leaf(NULL), 0);
}

static int done(void **state)
{
    (void)state;
    pools_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(product_of_many),
        cmocka_unit_test(max_of_many),
        cmocka_unit_test(logsumexp_of_many),
        cmocka_unit_test(variance_of_many),
        cmocka_unit_test(extremes_are_chains),
        cmocka_unit_test(three_equal_ones),
        cmocka_unit_test(products_with_zeros),
        cmocka_unit_test(the_rest_agrees_with_recordings),
        cmocka_unit_test(infinities_of_logsumexp),
        cmocka_unit_test(small_terms_of_logsumexp),
        cmocka_unit_test(no_elements),
        cmocka_unit_test(all_ways_have_the_same_bits),
        cmocka_unit_test(one_tape_says_the_same),
        cmocka_unit_test(layouts_of_x),
        cmocka_unit_test(default_leaf),
    };
    return cmocka_run_group_tests(tests, NULL, done);
}
