/* Sums of arrays: against the definition by lanes, against exact sums, and on data made to break naive ones. */
#include "tests/sched_help.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

static const unsigned workers[] = {1, 2, 3, 8};
static fad_pool *pools[COUNT(workers) + 1]; /* the last one is NULL: serial */

/* ---- the definition, recursively: 16 lanes in a leaf, pairs of lanes, then the tree over leaves ---- */

static double lanes(const double *x, size_t n, size_t lane, size_t step)
{
    double s = 0;
    if (step < 16)
        return lanes(x, n, lane, 2 * step) + lanes(x, n, lane + step, 2 * step);
    for (size_t i = lane; i < n; i += 16)
        s += x[i];
    return s;
}

static double definition(const double *x, size_t n)
{
    size_t left = FAD_SUM_LEAF;
    if (n <= FAD_SUM_LEAF)
        return lanes(x, n, 0, 1);
    while (2 * left < n)
        left *= 2;
    return definition(x, left) + definition(x + left, n - left);
}

static double *random_array(size_t n, uint64_t *seed, int exponents)
{
    double *x = malloc((n + 1) * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = ldexp(unit_random(seed) - 0.5, exponents ? (int)below(seed, (size_t)exponents) - exponents / 2 : 0);
    return x;
}

static void plain_is_the_definition(void **state)
{
    uint64_t seed = 6;
    (void)state;
    for (int round = 0; round < 300 / SLOWER; round++) {
        size_t n = below(&seed, round % 3 ? 300 : 200000);
        double *x = random_array(n, &seed, 80), want = n ? definition(x, n) : 0;
        for (size_t p = 0; p < COUNT(pools); p++) {
            double got = NAN;
            assert_int_equal(fad_sum_array(pools[p], x, n, &got), FAD_OK);
            assert_memory_equal(&got, &want, sizeof got);
        }
        free(x);
    }
}

#if defined(__x86_64__)
typedef __float128 quad;
#else
typedef long double quad;
#endif

static quad quad_abs(quad x)
{
    return x < 0 ? -x : x;
}

/* Neumaier's bound: |error| <= u |sum| + (n u)^2 sum |x|; the 113 bits of the reference lose at most n 2^-113 sum |x|. */
static void compensated_is_accurate(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (int round = 0; round < 100 / SLOWER; round++) {
        size_t n = 1 + below(&seed, 1 << 17);
        double *x = random_array(n, &seed, 30), first = 0;
        quad exact = 0, absolute = 0, bound;
        for (size_t i = 0; i < n; i++) {
            exact += x[i];
            absolute += fabs(x[i]);
        }
        bound = 0x1p-53 * quad_abs(exact) + (double)n * ((double)n * 0x1p-106 + 0x1p-113) * absolute;
        for (size_t p = 0; p < COUNT(pools); p++) {
            double got = NAN;
            assert_int_equal(fad_sum_array_kbn(pools[p], x, n, &got), FAD_OK);
            assert_true(quad_abs(got - exact) <= bound);
            if (p == 0)
                first = got;
            assert_memory_equal(&got, &first, sizeof got);
        }
        free(x);
    }
}

/* A22: numbers and their shuffled negatives. All are multiples of 2^-53 below 1, so that every error that is kept is a
 * multiple of 2^-53 below 2^-53 * 2^20 * 2^20, which a double holds exactly: nothing is lost and the sum is 0. */
static void cancels_exactly(void **state)
{
    size_t half = 500000;
    double *x = malloc(2 * half * sizeof *x);
    uint64_t seed = 8;
    (void)state;
    assert_non_null(x);
    for (size_t i = 0; i < half; i++)
        x[half + i] = -(x[i] = unit_random(&seed));
    for (int mixed = 0; mixed < 2; mixed++) {
        size_t from = mixed ? 0 : half;
        for (size_t i = 2 * half - 1; i > from; i--) {
            size_t j = from + below(&seed, i - from + 1);
            double t = x[i];
            x[i] = x[j];
            x[j] = t;
        }
        for (size_t p = 0; p < COUNT(pools); p++) {
            double got = NAN;
            assert_int_equal(fad_sum_array_kbn(pools[p], x, 2 * half, &got), FAD_OK);
            assert_true(got == 0);
        }
    }
    free(x);
}

/* inf, NaN and overflow: as the plain sum has it, to the bit but for NaN, whose bits are not defined. */
static void not_finite(void **state)
{
    static const double specials[][3] = {
        {INFINITY, 1, 1},         {-INFINITY, 1, 1},        {INFINITY, -INFINITY, 1},    {NAN, 1, 1},
        {NAN, INFINITY, 1},       {DBL_MAX, DBL_MAX, 1},    {-DBL_MAX, -DBL_MAX, 1},     {DBL_MAX, DBL_MAX, -DBL_MAX},
        {DBL_MAX, DBL_MAX, -INFINITY}, {INFINITY, INFINITY, INFINITY}, {DBL_MAX, DBL_MAX / 2, -DBL_MAX / 2},
    };
    static const size_t places[][3] = {{0, 1, 2}, {0, 16, 32}, {0, 5000, 9999}, {9999, 16, 0}, {4095, 4096, 8192}};
    static double x[10000];
    (void)state;
    for (size_t s = 0; s < COUNT(specials); s++)
        for (size_t at = 0; at < COUNT(places); at++)
            for (size_t p = 0; p < COUNT(pools); p++) {
                double plain = 5, kbn = 5;
                for (size_t i = 0; i < COUNT(x); i++)
                    x[i] = 0.125;
                for (size_t i = 0; i < 3; i++)
                    x[places[at][i]] = specials[s][i];
                assert_int_equal(fad_sum_array(pools[p], x, COUNT(x), &plain), FAD_OK);
                assert_int_equal(fad_sum_array_kbn(pools[p], x, COUNT(x), &kbn), FAD_OK);
                if (isnan(plain))
                    assert_true(isnan(kbn));
                else if (isinf(plain))
                    assert_true(kbn == plain);
                else
                    assert_true(isfinite(kbn));
            }
}

static void arguments(void **state)
{
    double x[2] = {1, 2}, sum = 7;
    int (*const sums[])(fad_pool *, const double *, size_t, double *) = {fad_sum_array, fad_sum_array_kbn};
    (void)state;
    for (size_t i = 0; i < COUNT(sums); i++) {
        sum = 7;
        assert_int_equal(sums[i](NULL, x, 2, NULL), FAD_EINVAL);
        assert_int_equal(sums[i](NULL, NULL, 2, &sum), FAD_EINVAL);
        assert_int_equal(sums[i](NULL, x, SIZE_MAX / 8 + 1, &sum), FAD_EOVERFLOW);
        assert_int_equal(sums[i](NULL, x, SIZE_MAX, &sum), FAD_EOVERFLOW);
        assert_true(sum == 7);
        assert_int_equal(sums[i](NULL, NULL, 0, &sum), FAD_OK);
        assert_true(sum == 0 && !signbit(sum));
        assert_int_equal(sums[i](NULL, x, 2, &x[0]), FAD_OK);
        assert_true(x[0] == 3);
        x[0] = 1;
    }
}

/* ---- NIST's univariate data: the certified mean is exact ---- */

#define MOST 6000

static size_t read_nist(const char *name, double *x, double *mean)
{
    const char *source = getenv("srcdir"); /* set by make check */
    char path[4096], line[256];
    size_t n = 0;
    bool data = false;
    FILE *f;
    snprintf(path, sizeof path, "%s/../shared/data/nist-univariate/%s.dat", source ? source : ".", name);
    if (!(f = fopen(path, "r")))
        return 0;
    while (n < MOST && fgets(line, sizeof line, f)) {
        if (!data)
            *mean = strncmp(line, "Sample Mean", 11) ? *mean : atof(strrchr(line, ':') + 1);
        else if (sscanf(line, "%lf", &x[n]) == 1)
            n++;
        data |= !strncmp(line, "---------", 9);
    }
    fclose(f);
    return n;
}

/* Data and certified mean m have been rounded to doubles, each by at most u = 2^-53 of its size, and so is the sum: the
 * computed mean is off by at most 4 u max |x|, with the division. */
static void nist_means(void **state)
{
    static const char *const sets[] = {"NumAcc1", "NumAcc2", "NumAcc3", "Lew", "Mavro"};
    static double x[MOST];
    (void)state;
    for (size_t s = 0; s < COUNT(sets); s++) {
        double mean = NAN, largest = 0;
        size_t n = read_nist(sets[s], x, &mean);
        if (n == 0) {
            print_message("no data beside the source tree: %s is not checked\n", sets[s]);
            skip();
        }
        for (size_t i = 0; i < n; i++)
            largest = fmax(largest, fabs(x[i]));
        for (size_t p = 0; p < COUNT(pools); p++) {
            double sum = NAN;
            assert_int_equal(fad_sum_array_kbn(pools[p], x, n, &sum), FAD_OK);
            assert_true(fabs(sum / (double)n - mean) <= 4 * 0x1p-53 * largest);
        }
    }
}

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(workers); i++)
        pools[i] = pool_of(workers[i]);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(workers); i++)
        end_pool(pools[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_is_the_definition), cmocka_unit_test(compensated_is_accurate),
        cmocka_unit_test(cancels_exactly),         cmocka_unit_test(not_finite),
        cmocka_unit_test(arguments),               cmocka_unit_test(nist_means),
    };
    watchdog();
    return cmocka_run_group_tests(tests, setup, teardown);
}
