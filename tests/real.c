/* Operations one by one: values against long double, derivatives against central differences, and that inline, out-of-line
 * and passive forms agree to the bit. The conventions at singular points are in cases_ad.c. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "ad/op.h"
#include "tests/ad_support.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

/* ---- every unary operation of the table ---- */

struct unary {
    const char *name;
    fad_real (*f)(fad_tape *, fad_real);
    long double (*exact)(long double);
    double low, high; /* where it is smooth */
    double ulps;      /* of the value */
};

static long double negl(long double x) { return -x; }
static long double squarel(long double x) { return x * x; }
static long double invl(long double x) { return 1 / x; }
static long double log1pexpl(long double x) { return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x)); }

/* lgamma is checked away from its zeros at 1 and 2, and from the poles */
static const struct unary unaries[] = {
    {"neg", fad_neg, negl, -5, 5, 0},           {"square", fad_square, squarel, -5, 5, 0.5},
    {"inv", fad_inv, invl, 0.1, 9, 0.5},        {"abs", fad_abs, fabsl, 0.1, 5, 0},
    {"abs", fad_abs, fabsl, -5, -0.1, 0},       {"sqrt", fad_sqrt, sqrtl, 0.1, 9, 0.5},
    {"cbrt", fad_cbrt, cbrtl, -9, -0.1, 1},     {"exp", fad_exp, expl, -20, 20, 1},
    {"expm1", fad_expm1, expm1l, -20, 5, 1},    {"log", fad_log, logl, 1e-3, 50, 1},
    {"log1p", fad_log1p, log1pl, -0.9, 50, 1},  {"log1pexp", fad_log1pexp, log1pexpl, -30, 30, 3},
    {"sin", fad_sin, sinl, -9, 9, 1},           {"cos", fad_cos, cosl, -9, 9, 1},
    {"tan", fad_tan, tanl, -1.4, 1.4, 1},       {"asin", fad_asin, asinl, -0.9, 0.9, 1},
    {"acos", fad_acos, acosl, -0.9, 0.9, 1},    {"atan", fad_atan, atanl, -9, 9, 1},
    {"sinh", fad_sinh, sinhl, -9, 9, 1},        {"cosh", fad_cosh, coshl, -9, 9, 1},
    {"cosh", fad_cosh, coshl, 709.1, 710.4, 3}, {"sinh", fad_sinh, sinhl, -710.4, -709.1, 3},
    {"tanh", fad_tanh, tanhl, -15, 15, 1},      {"erf", fad_erf, erfl, -4, 4, 1},
    {"erfc", fad_erfc, erfcl, -4, 8, 1.5},      {"lgamma", fad_lgamma, lgammal, 2.5, 60, 1},
    {"lgamma", fad_lgamma, lgammal, 0.01, 0.7, 1}, {"tgamma", fad_tgamma, tgammal, 0.2, 20, 1},
    {"tgamma", fad_tgamma, tgammal, -3.7, -3.3, 1}, {"log1p", fad_log1p, log1pl, 1e303, 1.7e308, 1},
};

/* Central difference in long double with step h: truncation h^2 |f'''| / 6, rounding 2^-63 |f| / h. The third derivative is
 * bounded through three more evaluations, fifty times over for what lies between them. */
static void expect_slope(const struct unary *u, double x, double got)
{
    long double h = 0x1p-15L * (fabsl(x) + 0.01L), f[5];
    for (int i = 0; i < 5; i++)
        f[i] = u->exact(x + (i - 2) * h);
    long double slope = (f[3] - f[1]) / (2 * h);
    long double third = (f[4] - 2 * f[3] + 2 * f[1] - f[0]) / (2 * h * h * h);
    long double size = fabsl(f[0]) + fabsl(f[4]);
    long double error = 50 * fabsl(third) * h * h + 8 * 0x1p-63L * (size / h + fabsl(slope)) + 16 * UNIT * fabsl(slope);
    if (!(fabsl(got - slope) <= error))
        fail_msg("%s'(%a) = %.17g, should be %.20Lg, allowed %.3Lg", u->name, x, got, slope, error);
}

static void unary_operations(void **state)
{
    struct dice d = {1};
    fad_tape *t = fad_tape_create(), *traced = fad_tape_create();
    (void)state;
    assert_int_equal(fad_tape_trace(traced, true), 0);
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++)
        for (int n = 0; n < 500; n++) {
            const struct unary *u = unaries + i;
            double x = dice_between(&d, u->low, u->high), g[2];
            fad_tape_rewind(t, NULL);
            fad_tape_rewind(traced, NULL);
            fad_real a[2] = {fad_input(t, x), fad_input(traced, x)};
            fad_real y = u->f(t, a[0]), z = u->f(traced, a[1]), c = u->f(NULL, fad_const(x));
            assert_true(y.stamp && z.stamp && !c.stamp && !c.id);
            assert_true(is_bits(y.value, c.value) && is_bits(z.value, c.value));
            long double exact = u->exact(x);
            /* an ulp is at most twice the unit */
            if (!(fabsl(y.value - exact) <= u->ulps * 2 * UNIT * fabsl(exact)))
                fail_msg("%s(%a) = %.17g, should be %.20Lg", u->name, x, y.value, exact);
            assert_int_equal(fad_tape_reverse(t, y, 1, 1, a, g), 0);
            assert_int_equal(fad_tape_reverse(traced, z, 1, 1, a + 1, g + 1), 0);
            assert_true(is_bits(g[0], g[1]));
            expect_slope(u, x, g[0]);
        }
    fad_tape_destroy(t);
    fad_tape_destroy(traced);
}

/* ---- two operands ---- */

struct binary {
    const char *name;
    fad_real (*f)(fad_tape *, fad_real, fad_real);
    long double (*exact)(long double, long double);
    double low, high;
};

static long double addl(long double x, long double y) { return x + y; }
static long double subl(long double x, long double y) { return x - y; }
static long double mull(long double x, long double y) { return x * y; }
static long double divl(long double x, long double y) { return x / y; }

static const struct binary binaries[] = {
    {"add", fad_add, addl, -5, 5},   {"sub", fad_sub, subl, -5, 5},         {"mul", fad_mul, mull, -5, 5},
    {"div", fad_div, divl, 0.2, 5},  {"pow", fad_pow, powl, 0.2, 5},        {"hypot", fad_hypot, hypotl, 0.2, 5},
    {"max", fad_max, fmaxl, -5, 5},  {"atan2", fad_atan2, atan2l, 0.2, 5},  {"min", fad_min, fminl, -5, 5},
};

/* The slope in one operand, as expect_slope. */
static void expect_partial(const struct binary *b, double x, double y, int which, double got)
{
    long double h = 0x1p-15L, f[5];
    for (int i = 0; i < 5; i++)
        f[i] = b->exact(x + (which ? 0 : (i - 2) * h), y + (which ? (i - 2) * h : 0));
    long double slope = (f[3] - f[1]) / (2 * h), third = (f[4] - 2 * f[3] + 2 * f[1] - f[0]) / (2 * h * h * h);
    long double error = 50 * fabsl(third) * h * h + 8 * 0x1p-63L * (fabsl(f[0]) + fabsl(f[4]) + 1) / h +
                        16 * UNIT * fabsl(slope);
    if (!(fabsl(got - slope) <= error))
        fail_msg("%s(%a, %a)', operand %d: %.17g, should be %.20Lg", b->name, x, y, which, got, slope);
}

/* Each operand a variable or a constant; recorded inline, by the out-of-line half, or not at all. */
static void binary_operations(void **state)
{
    struct dice d = {2};
    fad_tape *t[2] = {fad_tape_create(), fad_tape_create()};
    (void)state;
    assert_int_equal(fad_tape_trace(t[1], true), 0);
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
        for (unsigned n = 0; n < 2000; n++) {
            const struct binary *b = binaries + i;
            double x = dice_between(&d, b->low, b->high), y = dice_between(&d, b->low, b->high), g[2][2];
            fad_real c = b->f(NULL, fad_const(x), fad_const(y));
            if (fabs(x - y) < 0.01) /* max and min have a kink there */
                continue;
            for (int k = 0; k < 2; k++) {
                fad_tape_rewind(t[k], NULL);
                fad_real v[2] = {n & 1 ? fad_input(t[k], x) : fad_const(x), n & 2 ? fad_input(t[k], y) : fad_const(y)};
                fad_real r = b->f(t[k], v[0], v[1]);
                assert_true(is_bits(r.value, c.value));
                assert_int_equal(fad_tape_reverse(t[k], r, 1, 2, v, g[k]), 0);
            }
            assert_true(same_bits(g[0], g[1], sizeof g[0]));
            assert_true(fabsl(c.value - b->exact(x, y)) <= 2 * UNIT * fabsl(b->exact(x, y)));
            for (int w = 0; w < 2; w++)
                if (n >> w & 1)
                    expect_partial(b, x, y, w, g[0][w]);
                else
                    assert_true(is_bits(g[0][w], 0));
        }
    fad_tape_destroy(t[0]);
    fad_tape_destroy(t[1]);
}

/* fma with every subset of operands active: value rounded once, partials b, a, 1. */
static void fused(void **state)
{
    fad_tape *t = fad_tape_create();
    double a = 1 + 0x1p-30, b = 1 - 0x1p-30, c = -1, g[3]; /* a * b rounds to 1 */
    (void)state;
    for (unsigned active = 0; active < 8; active++) {
        fad_tape_rewind(t, NULL);
        fad_real v[3] = {active & 1 ? fad_input(t, a) : fad_const(a), active & 2 ? fad_input(t, b) : fad_const(b),
                         active & 4 ? fad_input(t, c) : fad_const(c)};
        fad_real y = fad_fma(t, v[0], v[1], v[2]);
        assert_true(is_bits(y.value, -0x1p-60));
        assert_int_equal(fad_tape_reverse(t, y, 2, 3, v, g), 0);
        assert_true(g[0] == (active & 1 ? 2 * b : 0) && g[1] == (active & 2 ? 2 * a : 0) && g[2] == (active & 4 ? 2 : 0));
    }
    fad_tape_destroy(t);
}

/* ---- operands ---- */

/* Any arithmetic type is a constant; operands are evaluated once, from left to right; calls nest. */
static void macros(void **state)
{
    fad_tape *t = fad_tape_create();
    int calls = 0;
    (void)state;
    fad_real x = fad_input(t, 3);
    const fad_real fixed = x;
    assert_true(fad_mul(t, 2, x).value == 6 && fad_mul(t, x, 0.5f).value == 1.5 && fad_add(t, (short)1, 2L).value == 3);
    assert_true(fad_pow(t, 2u, fixed).value == 8 && fad_square(t, true).value == 1 && fad_exp(t, 0).value == 1);
    assert_true(fad_fma(t, 2, x, 1.0f).value == 7 && fad_value(t, fad_neg(t, fixed)) == -3 && fad_value(t, 5) == 5);
    assert_true(fad_select(t, fad_lt(t, x, 4), 1, x).value == 1 && fad_select(t, fad_eq(t, 1, 2), x, 2).value == 2);
    fad_real y = fad_add(t, (calls++, x), (calls++, x));
    assert_true(calls == 2 && y.value == 6);
    uint32_t before = y.id;
    y = fad_sub(t, fad_exp(t, x), fad_log(t, x)); /* the exponential is recorded first, whatever the compiler */
    assert_true(y.id == before + 3);
    y = fad_div(t, fad_square(t, y), y);
    assert_true((fad_mul)(t, x, fad_const(2)).value == 6);
    fad_tape_destroy(t);
}

static void comparisons(void **state)
{
    fad_mask yes = fad_le(NULL, 1, 1), no = fad_lt(NULL, 1, 1);
    (void)state;
    assert_true(yes.holds && !no.holds && fad_eq(NULL, 0.0, -0.0).holds);
    assert_true(!fad_le(NULL, NAN, 1).holds && !fad_lt(NULL, 1, NAN).holds && !fad_eq(NULL, NAN, NAN).holds);
    assert_true(!fad_and(NULL, yes, no).holds && fad_or(NULL, no, yes).holds && fad_not(NULL, no).holds);
    assert_true(fad_and(NULL, yes, yes).holds && !fad_or(NULL, no, no).holds && !fad_not(NULL, yes).holds);
}

/* A product that the compiler of this file would contract with the sum, were it allowed to: baseline code has no fma, but
 * with -march=native it has. */
static void not_contracted(void **state)
{
    volatile double a = 1 + 0x1p-30, b = 1 - 0x1p-30;
    (void)state;
    assert_true(fad_sub(NULL, fad_mul(NULL, a, b), 1).value == 0);
    assert_true(fad_sub(NULL, fad_square(NULL, a), 1 + 0x1p-29).value == 0);
}

/* ---- the functions that math.c adds ---- */

static void digamma(void **state)
{
    /* psi(1) = -gamma, psi(1/2) = -gamma - 2 log 2, psi(n + 1) = psi(n) + 1/n, psi(1 - x) - psi(x) = pi cot(pi x),
       psi(-x) = psi(1 - x) + 1/x */
    const double gamma = 0x1.2788cfc6fb619p-1;
    double sum = -gamma;
    (void)state;
    assert_true(fabs(fadi_digamma(0.5) + gamma + 2 * log(2.0)) <= 8 * 0x1p-52);
    for (int n = 1; n < 200; n++) {
        assert_true(fabs(fadi_digamma(n) - sum) <= 16 * 0x1p-52 * (1 + fabs(sum)));
        sum += 1.0 / n;
    }
    for (double x = 0.05; x < 0.95; x += 0.01) {
        double cot = 3.14159265358979323846 / tan(3.14159265358979323846 * x);
        double allowed = 32 * 0x1p-52 * (1 + fabs(fadi_digamma(x)) + fabs(cot) / x / (1 - x));
        assert_true(fabs(fadi_digamma(1 - x) - fadi_digamma(x) - cot) <= allowed);
        assert_true(fabs(fadi_digamma(-x) - fadi_digamma(1 - x) - 1 / x) <= allowed);
    }
    assert_true(isnan(fadi_digamma(0)) && isnan(fadi_digamma(-3)) && fadi_digamma(INFINITY) == INFINITY);
}

static void stable_tails(void **state)
{
    (void)state;
    /* 1 / cosh^2 = 4 e^-2x there, to 1 part in e^80 */
    assert_true(fabs(fadi_sech2(40) - 4 * exp(-80)) <= 1e-15 * fadi_sech2(40));
    assert_true(fadi_log1pexp(-800) == 0 && fadi_log1pexp(800) == 800 && fadi_logistic(-800) == 0 && fadi_logistic(800) == 1);
    assert_true(fabs(fadi_log1pexp(-40) - exp(-40)) <= 1e-15 * exp(-40));
    assert_true(fadi_gauss(40) == 0 && fadi_gauss(INFINITY) == 0 && isnan(fadi_gauss(NAN)));
    for (double x = 0; x < 26; x += 0.07) { /* three roundings, an exponential within 1 ulp, the constant */
        long double exact = 1.12837916709551257390L * expl(-(long double)x * x);
        assert_true(fabsl(fadi_gauss(x) - exact) <= 8 * UNIT * exact);
    }
    assert_false(signbit(fadi_tgamma(-180.5)));
    double p;
    assert_true(is_bits(fadi_log1pexp_both(0.3, &p), fadi_log1pexp(0.3)) && is_bits(p, fadi_logistic(0.3)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unary_operations), cmocka_unit_test(binary_operations), cmocka_unit_test(fused),
        cmocka_unit_test(macros),           cmocka_unit_test(comparisons),       cmocka_unit_test(not_contracted),
        cmocka_unit_test(digamma),          cmocka_unit_test(stable_tails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
