/* Operations on arrays: every mixture of constants, runs of ids and scattered ones; values by their definition. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/ad_support.h"

#include <math.h>
#include <string.h>

#define MOST 70

static fad_tape *t;

static int make(void **state)
{
    (void)state;
    t = fad_tape_create();
    return t == NULL;
}

static int end(void **state)
{
    (void)state;
    return fad_tape_destroy(t);
}

/* Inputs with one random pattern of what is constant, what is a run and what repeats. */
static void draw(struct dice *d, size_t n, fad_real *a, double low, double high)
{
    size_t form = dice_below(d, 5);
    for (size_t i = 0; i < n; i++) {
        double v = dice_between(d, low, high);
        if (form == 0 || (form == 1 && dice_below(d, 2)))
            a[i] = fad_const(v);
        else if (form == 3 && i && dice_below(d, 2))
            a[i] = a[dice_below(d, i)]; /* an alias */
        else
            a[i] = fad_input(t, v); /* form 2: one run */
        if (form == 4 && dice_below(d, 3) == 0)
            fad_input(t, 0); /* a gap in the ids */
    }
}

static double lanes(const double *s)
{
    return (s[0] + s[1]) + (s[2] + s[3]);
}

/* What the tape adds up for each distinct handle, against the sum over its places. The sum of at most 2 n terms in any order
 * differs from the exact one by at most 2 n units of the sum of magnitudes. */
static void expect_gradient(fad_real y, size_t n, const fad_real *a, const long double *partial, long double loss)
{
    double g[MOST];
    assert_int_equal(fad_tape_reverse(t, y, 1, n, a, g), 0);
    for (size_t i = 0; i < n; i++) {
        long double sum = 0, size = 0;
        for (size_t j = 0; j < n; j++)
            if (a[j].id == a[i].id && a[i].id) {
                sum += partial[j];
                size += fabsl(partial[j]);
            }
        if (!(fabsl(g[i] - sum) <= (2 * (long double)n * UNIT + loss) * size))
            fail_msg("place %zu of %zu: %.17g, should be %.20Lg", i, n, g[i], sum);
    }
}

static void dot(void **state)
{
    struct dice d = {4};
    (void)state;
    for (int round = 0; round < 4000; round++) {
        fad_real v[2 * MOST], *a = v, *b = v + MOST / 2;
        size_t n = dice_below(&d, MOST / 2);
        double s[4] = {0, 0, 0, 0}, plain[MOST];
        long double partial[MOST];
        assert_int_equal(fad_tape_rewind(t, NULL), 0);
        b = v + n;
        draw(&d, n, a, -3, 3);
        draw(&d, n, b, -3, 3);
        if (round % 5 == 0)
            memcpy(b, a, n * sizeof *a); /* a square */
        for (size_t i = 0; i < n; i++) {
            s[i % 4] = fma(a[i].value, b[i].value, s[i % 4]);
            partial[i] = b[i].value;
            partial[n + i] = a[i].value;
            plain[i] = a[i].value;
        }
        fad_real y = fad_dot(t, n, a, b), z = fad_dot_d(t, n, plain, b);
        assert_true(is_bits(y.value, lanes(s)) && is_bits(z.value, lanes(s)));
        expect_gradient(y, 2 * n, v, partial, 0);
        expect_gradient(z, n, b, partial + n, 0);
    }
}

static void sum_of(void **state)
{
    struct dice d = {5};
    (void)state;
    for (int round = 0; round < 2000; round++) {
        fad_real a[MOST];
        double s[4] = {0, 0, 0, 0};
        long double partial[MOST];
        size_t n = dice_below(&d, MOST);
        assert_int_equal(fad_tape_rewind(t, NULL), 0);
        draw(&d, n, a, -3, 3);
        for (size_t i = 0; i < n; i++) {
            s[i % 4] += a[i].value;
            partial[i] = 1;
        }
        fad_real y = fad_sum_of(t, n, a);
        assert_true(is_bits(y.value, lanes(s)));
        expect_gradient(y, n, a, partial, 0);
    }
}

/* Norms: sum of squares in n operations, a root, a scaling that is exact: at most n / 2 + 2 units, and one more each for the
 * quotients. */
static void norm(void **state)
{
    static const double scale[] = {1, 1e-200, 1e200, 0x1p-1070, 8e307};
    struct dice d = {6};
    (void)state;
    for (int round = 0; round < 4000; round++) {
        fad_real a[MOST];
        long double partial[MOST], squares = 0, loss;
        size_t n = dice_below(&d, MOST);
        double by = scale[round % 5];
        if (by == 8e307 && n > 3)
            n = 3; /* the norm is below the largest double */
        assert_int_equal(fad_tape_rewind(t, NULL), 0);
        draw(&d, n, a, -by, by);
        for (size_t i = 0; i < n; i++)
            squares += (long double)a[i].value * a[i].value;
        for (size_t i = 0; i < n; i++)
            partial[i] = squares > 0 ? a[i].value / sqrtl(squares) : 0;
        fad_real y = fad_norm2(t, n, a);
        /* of subnormal results the last place counts, and their quotients inherit it */
        long double unit = by == 0x1p-1070 ? 0x1p-2L : UNIT;
        loss = ((long double)n + 6) * unit;
        if (!(fabsl(y.value - sqrtl(squares)) <= loss * sqrtl(squares) + 0x1p-1074L))
            fail_msg("norm of %zu: %.17g, should be %.20Lg", n, y.value, sqrtl(squares));
        if (by != 0x1p-1070)
            expect_gradient(y, n, a, partial, loss);
    }
    fad_real x[2] = {fad_const(INFINITY), fad_const(1)};
    assert_true(fad_norm2(t, 2, x).value == INFINITY);
    x[1] = fad_const(NAN);
    assert_true(isnan(fad_norm2(t, 2, x).value));
    assert_true(fad_norm2(t, 0, x).value == 0);
}

/* Exponentials within 1 ulp, n sums, a logarithm: n + 6 units of 1 + log n, and as much of each share. The difference to the
 * largest has been rounded, which moves a share by the unit times the difference, at most 40 here. */
static void logsumexp(void **state)
{
    struct dice d = {7};
    (void)state;
    for (int round = 0; round < 2000; round++) {
        fad_real a[MOST];
        long double partial[MOST], sum = 0, top = -INFINITY, loss;
        size_t n = 1 + dice_below(&d, MOST - 1);
        double shift = round % 3 ? 0 : dice_between(&d, -1e3, 1e3);
        assert_int_equal(fad_tape_rewind(t, NULL), 0);
        draw(&d, n, a, shift - 20, shift + 20);
        for (size_t i = 0; i < n; i++)
            top = a[i].value > top ? a[i].value : top;
        for (size_t i = 0; i < n; i++)
            sum += expl(a[i].value - top);
        for (size_t i = 0; i < n; i++)
            partial[i] = expl(a[i].value - top) / sum;
        fad_real y = fad_logsumexp(t, n, a);
        loss = ((long double)n + 46) * 2 * UNIT;
        assert_true(fabsl(y.value - (top + logl(sum))) <= loss * (1 + logl(n)) + UNIT * fabsl(y.value));
        expect_gradient(y, n, a, partial, loss);
    }
}

static void logsumexp_corners(void **state)
{
    static const struct {
        double a[3], value, gradient[3];
    } cases[] = {
        {{-INFINITY, -INFINITY, -INFINITY}, -INFINITY, {0, 0, 0}},
        {{0, INFINITY, 1}, INFINITY, {0, 1, 0}},
        {{INFINITY, 0, INFINITY}, INFINITY, {0.5, 0, 0.5}},
        {{-INFINITY, 5, -INFINITY}, 5, {0, 1, 0}},
        {{1000, 0, -1000}, 1000, {1, 0, 0}},
        {{0, NAN, 0}, NAN, {NAN, NAN, NAN}},
        {{INFINITY, NAN, 0}, NAN, {NAN, NAN, NAN}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fad_real v[3];
        double g[3];
        for (int j = 0; j < 3; j++)
            v[j] = fad_input(t, cases[i].a[j]);
        fad_real y = fad_logsumexp(t, 3, v);
        assert_true(y.value == cases[i].value || (isnan(y.value) && isnan(cases[i].value)));
        assert_int_equal(fad_tape_reverse(t, y, 1, 3, v, g), 0);
        for (int j = 0; j < 3; j++)
            assert_true(g[j] == cases[i].gradient[j] || (isnan(g[j]) && isnan(cases[i].gradient[j])));
    }
    assert_true(fad_logsumexp(t, 0, NULL).value == -INFINITY);
    fad_real one = fad_const(3);
    assert_true(fad_logsumexp(t, 1, &one).value == 3);
}

/* An operation that no adjoint reaches adds nothing, and one whose operands are infinite does not spread NaN from zero. */
static void zero_adjoint(void **state)
{
    (void)state;
    fad_real x[2] = {fad_input(t, INFINITY), fad_input(t, 2)};
    double g[2];
    fad_real y = fad_select(t, fad_lt(t, 0, 1), x[1], fad_dot(t, 2, x, x));
    assert_int_equal(fad_tape_reverse(t, y, 1, 2, x, g), 0);
    assert_true(g[0] == 0 && g[1] == 1);
    y = fad_add(t, fad_mul(t, 0, fad_norm2(t, 2, x)), x[1]);
    assert_int_equal(fad_tape_reverse(t, y, 1, 2, x, g), 0);
    assert_true(is_bits(g[0], 0) && g[1] == 1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make, end)
    const struct CMUnitTest tests[] = {
        TEST(dot), TEST(sum_of), TEST(norm), TEST(logsumexp), TEST(logsumexp_corners), TEST(zero_adjoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
