/* Faults that users of other systems have reported, on one tape: A9 to A14, A24, A25, and the whole kind of each.
 * Expected numbers are exact: each is a convention, or representable and reached without rounding. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/corners.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#define INF INFINITY

static fad_tape *tape;

static int make_tape(void **state)
{
    (void)state;
    tape = fad_tape_create();
    return tape ? 0 : -1;
}

static int end_tape(void **state)
{
    (void)state;
    return fad_tape_destroy(tape);
}

/* dy/dx */
static double slope(fad_real y, fad_real x)
{
    double g = 1e300;
    assert_int_equal(fad_tape_reverse(tape, y, 1, 1, &x, &g), 0);
    return g;
}

static fad_real fresh(double v)
{
    assert_int_equal(fad_tape_rewind(tape, NULL), 0);
    return fad_input(tape, v);
}

/* ---- A9 ---- */

/* A9: a variable that is assigned from itself. */
static void a9_aliases(void **state)
{
    fad_real x = fresh(1), a = x;
    (void)state;
    a = fad_sub(tape, a, fad_mul(tape, 2, a));
    assert_true(is_bits(slope(a, x), -1));
    a = x = fresh(3);
    a = fad_mul(tape, a, a);
    assert_true(a.value == 9 && is_bits(slope(a, x), 6));
    x = a = fresh(3);
    for (int i = 0; i < 5; i++) /* ((x + x) * 2 ... ): 2^10 x */
        a = fad_add(tape, fad_add(tape, a, a), fad_add(tape, a, a));
    assert_true(is_bits(slope(a, x), 1024));
    x = fresh(2);
    assert_true(is_bits(slope(fad_fma(tape, x, x, x), x), 5));
    assert_true(is_bits(slope(fad_div(tape, x, x), x), 0));
    assert_true(is_bits(slope(fad_sub(tape, x, x), x), 0));
    assert_true(is_bits(slope(fad_max(tape, x, x), x), 1));
    assert_true(is_bits(slope(fad_hypot(tape, fad_const(0), x), x), 1));
    fad_real same[7] = {x, x, x, x, x, x, x};
    assert_true(is_bits(slope(fad_dot(tape, 7, same, same), x), 28));
    assert_true(is_bits(slope(fad_dot(tape, 5, same + 1, same), x), 20));
    assert_true(is_bits(slope(fad_sum_of(tape, 7, same), x), 7));
    assert_true(is_bits(slope(fad_norm2(tape, 4, same), x), 2));
    assert_true(is_bits(slope(fad_logsumexp(tape, 4, same), x), 1));
}

/* ---- A10, A24, A25 and other conventions ---- */

static fad_real put_corner(const struct corner *c, fad_real *a, unsigned constants)
{
    struct step s = {.op = c->op, .count = c->count};
    assert_int_equal(fad_tape_rewind(tape, NULL), 0);
    for (unsigned i = 0; i < c->count; i++) {
        s.operand[i] = (unsigned char)i;
        a[i] = constants >> i & 1 ? fad_const(c->x[i]) : fad_input(tape, c->x[i]);
    }
    return expression_step(tape, &s, a);
}

static void check_corner(const struct corner *c, unsigned row, unsigned constants)
{
    fad_real a[4], y = put_corner(c, a, constants);
    double g[4];
    assert_int_equal(fad_tape_reverse(tape, y, 1, c->count, a, g), 0);
    if (!isnan(c->value) && !is_bits(y.value, c->value))
        fail_msg("row %u, %s: value %.17g", row, operation_name(c->op), y.value);
    for (unsigned i = 0; i < c->count; i++)
        if (!is_output(g[i], constants >> i & 1 ? 0.0 : c->partial[i]))
            fail_msg("row %u, %s: partial %u is %.17g", row, operation_name(c->op), i, g[i]);
}

/* A10, A12, A13, A24, A25: what is agreed at points where systems differ; the same for each choice of constants. */
static void a25_conventions(void **state)
{
    (void)state;
    for (unsigned row = 0; row < corner_count; row++)
        for (unsigned constants = 0; constants < 1u << corners[row].count; constants++)
            check_corner(corners + row, row, constants);
}

/* A25: an adjoint of 0 is not multiplied by anything: neither when a factor 0 made it nor when the seed is 0. */
static void a25_zero_adjoints_stop(void **state)
{
    (void)state;
    for (unsigned row = 0; row < corner_count; row++) {
        const struct corner *c = corners + row;
        fad_real a[4], y = put_corner(c, a, 0), zero = fad_input(tape, 0);
        double g[4];
        assert_int_equal(fad_tape_reverse(tape, y, 0, c->count, a, g), 0);
        for (unsigned i = 0; i < c->count; i++)
            assert_true(is_bits(g[i], 0));
        fad_real products[] = {fad_mul(tape, 0, y), fad_mul(tape, y, zero), fad_dot_d(tape, 1, &zero.value, &y),
                               fad_dot(tape, 1, &zero, &y), fad_fma(tape, zero, y, 3), fad_mul(tape, fad_mul(tape, 0, y), 5),
                               fad_mul(tape, fad_exp(tape, y), 0)};
        for (unsigned p = 0; p < sizeof products / sizeof *products; p++) {
            assert_int_equal(fad_tape_reverse(tape, products[p], 1, c->count, a, g), 0);
            for (unsigned i = 0; i < c->count; i++)
                if (!is_bits(g[i], 0))
                    fail_msg("row %u, %s, product %u: 0 times it has partial %.17g", row, operation_name(c->op), p, g[i]);
        }
    }
}

/* A24: a passive exponent of any type. */
static void a24_passive_exponents(void **state)
{
    fad_real x = fresh(-5);
    (void)state;
    assert_true(is_bits(slope(fad_pow(tape, x, 5), x), 3125));
    assert_true(is_bits(slope(fad_pow(tape, x, 5.0f), x), 3125));
    assert_true(is_bits(slope(fad_pow(tape, x, 5u), x), 3125));
    assert_true(is_bits(slope(fad_pow(tape, x, (char)2), x), -10));
    assert_true(is_bits(slope(fad_pow(tape, x, -1L), x), -0.04));
    assert_true(is_bits(slope(fad_pow(tape, x, true), x), 1));
    assert_true(is_bits(slope(fad_mul(tape, 3L, x), x), 3));
}

/* ---- A11 ---- */

/* A11: nothing comes back from the branch that is not taken, whatever its partials are. */
static void a11_branch_not_taken(void **state)
{
    fad_real x = fresh(-1);
    (void)state;
    assert_true(is_bits(slope(fad_select(tape, fad_lt(tape, 0, x), fad_sqrt(tape, x), x), x), 1));
    x = fresh(0);
    assert_true(is_bits(slope(fad_select(tape, fad_le(tape, x, 0), fad_mul(tape, 7, x), fad_log(tape, x)), x), 7));
    assert_true(is_bits(slope(fad_select(tape, fad_eq(tape, x, 1), fad_div(tape, x, x), 2), x), 0));
    fad_real deep = fad_exp(tape, fad_inv(tape, fad_mul(tape, x, x))); /* infinite partials behind infinite partials */
    assert_true(is_bits(slope(fad_select(tape, fad_lt(tape, x, 0), deep, fad_add(tape, x, x)), x), 2));
    /* select of a select, and the same node once taken and once not */
    fad_real root = fad_sqrt(tape, x), s = fad_select(tape, fad_lt(tape, 1, x), root, fad_mul(tape, 3, x));
    fad_real z = fad_select(tape, fad_not(tape, fad_lt(tape, 1, x)), s, fad_mul(tape, root, root));
    assert_true(is_bits(slope(z, x), 3));
}

/* ---- A12 ---- */

static int raised(void)
{
    return fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
}

/* A12: norm where its root is singular, and other derivatives of finite things, raise no exception; whoever traps them
 * must not be stopped. Flags are looked at and not trapped, so that a fault is a failure and not the end. */
static void a12_no_exceptions(void **state)
{
    fad_real v[3], y;
    double g[3];
    (void)state;
    fad_tape_rewind(tape, NULL);
    feclearexcept(FE_ALL_EXCEPT);
    for (int i = 0; i < 3; i++)
        v[i] = fad_input(tape, i == 0);
    y = fad_norm2(tape, 3, v);
    assert_int_equal(fad_tape_reverse(tape, y, 1, 3, v, g), 0);
    assert_true(g[0] == 1 && g[1] == 0 && g[2] == 0);
    y = fad_norm2(tape, 2, v + 1);
    assert_int_equal(fad_tape_reverse(tape, y, 1, 3, v, g), 0);
    assert_true(g[0] == 0 && g[1] == 0 && g[2] == 0);
    assert_int_equal(raised(), 0);
    y = fad_max(tape, fad_abs(tape, v[1]), fad_square(tape, v[2]));
    y = fad_sum_of(tape, 2, (fad_real[]){fad_logsumexp(tape, 3, v), y});
    assert_int_equal(fad_tape_reverse(tape, y, 1, 3, v, g), 0);
    assert_int_equal(raised(), 0);
}

/* A12: the derivative of a constant operand is not even computed: log of a negative base, a quotient by it. */
static void a12_constants_raise_nothing(void **state)
{
    (void)state;
    fad_real x = fresh(3), zero = fad_const(0), y = fad_pow(tape, fad_const(-2), fad_const(3));
    feclearexcept(FE_ALL_EXCEPT);
    y = fad_add(tape, y, fad_pow(tape, fad_sub(tape, 0, x), 3));
    y = fad_add(tape, y, fad_mul(tape, fad_const(INF), x));
    y = fad_add(tape, y, fad_div(tape, zero, x));
    y = fad_add(tape, y, fad_fma(tape, x, 2, fad_const(INF)));
    assert_int_equal(raised(), 0);
    slope(y, x);
    assert_int_equal(raised(), 0);
}

/* A12: an infinite adjoint reaches a sum with a constant: its place must not make inf - inf out of it. */
static void a12_infinite_adjoints(void **state)
{
    (void)state;
    fad_real x = fresh(1);
    fad_real y[] = {fad_sqrt(tape, fad_sub(tape, x, 1)), fad_sqrt(tape, fad_sub(tape, 1, x)),
                    fad_sqrt(tape, fad_add(tape, x, -1)), fad_sqrt(tape, fad_add(tape, -1, x)),
                    fad_sqrt(tape, fad_fma(tape, x, 1, -1)), fad_sqrt(tape, fad_neg(tape, fad_sub(tape, x, 1)))};
    for (unsigned i = 0; i < sizeof y / sizeof *y; i++) {
        feclearexcept(FE_ALL_EXCEPT);
        double g = slope(y[i], x);
        if (fetestexcept(FE_INVALID) || !isinf(g))
            fail_msg("root %u: %g, invalid operation %d", i, g, fetestexcept(FE_INVALID));
    }
    x = fresh(1);
    fad_real large = fad_mul(tape, 1.5e308, fad_add(tape, x, 2));
    feclearexcept(FE_ALL_EXCEPT);
    assert_true(is_bits(slope(large, x), 1.5e308));
    assert_int_equal(raised(), 0);
}

/* ---- A13, A14 ---- */

/* A13: at a tie partials sum to 1, in chains too. */
static void a13_ties(void **state)
{
    fad_real v[4], y;
    double g[4];
    (void)state;
    fresh(0);
    for (int i = 0; i < 4; i++)
        v[i] = fad_input(tape, 1);
    y = fad_max(tape, v[0], fad_max(tape, v[1], v[2]));
    assert_int_equal(fad_tape_reverse(tape, y, 1, 3, v, g), 0);
    assert_true(g[0] == 0.5 && g[1] == 0.25 && g[2] == 0.25);
    y = fad_min(tape, fad_min(tape, v[0], v[1]), fad_min(tape, v[2], v[3]));
    assert_int_equal(fad_tape_reverse(tape, y, 1, 4, v, g), 0);
    assert_true(g[0] == 0.25 && g[1] == 0.25 && g[2] == 0.25 && g[3] == 0.25);
    y = fad_max(tape, v[0], 1); /* the other half belongs to the constant */
    assert_true(is_bits(slope(y, v[0]), 0.5));
    y = fad_max(tape, 1, v[0]);
    assert_true(is_bits(slope(y, v[0]), 0.5));
    y = fad_max(tape, fad_neg(tape, v[0]), v[0]);
    assert_true(is_bits(slope(y, v[0]), 1));
}

/* A14: a second sweep gives the same and not twice as much, in any order with other sweeps and more recording. */
static void a14_reverse_again(void **state)
{
    double first[3], g[3];
    (void)state;
    fad_real x[3] = {fresh(0.5)}, y, z;
    x[1] = fad_input(tape, -2);
    x[2] = fad_input(tape, 3);
    y = fad_dot(tape, 3, x, x);
    for (int i = 0; i < 40; i++)
        y = fad_sin(tape, fad_add(tape, fad_mul(tape, y, x[i % 3]), x[(i + 1) % 3]));
    z = fad_mul(tape, y, x[0]);
    assert_int_equal(fad_tape_reverse(tape, y, 1, 3, x, first), 0);
    for (int i = 0; i < 100; i++) {
        fad_real middle[3] = {x[0], y, z};
        assert_int_equal(fad_tape_reverse(tape, z, i, 3, middle, g), 0);
        assert_true(g[2] == i && g[1] == i * 0.5);
        assert_int_equal(fad_tape_reverse(tape, x[1], 1, 3, x, g), 0);
        assert_true(g[0] == 0 && g[1] == 1 && g[2] == 0);
        assert_int_equal(fad_tape_reverse(tape, y, 1, 3, x, g), 0);
        assert_true(same_bits(g, first, sizeof g));
        z = fad_mul(tape, y, x[0]);
    }
    assert_int_equal(fad_tape_reverse(tape, fad_const(4), 1, 3, x, g), 0);
    assert_true(g[0] == 0 && g[1] == 0 && g[2] == 0);
}

/* ---- A20 ---- */

/* A20: 100 x in steps that cancel each other. Nothing is reassociated, so what is lost is lost, in the same way whether
 * derivatives are recorded or not; the derivative is made of small whole numbers and exact. */
static void a20_cancelling_steps(void **state)
{
    fad_real x = fresh(0.5), y = fad_const(0), plain = fad_const(0);
    (void)state;
    for (int i = 0; i < 100; i++) {
        y = fad_sub(tape, fad_add(tape, fad_add(tape, y, 1e17), x), 1e17);
        plain = fad_sub(NULL, fad_add(NULL, fad_add(NULL, plain, 1e17), 0.5), 1e17);
    }
    assert_true(is_bits(y.value, plain.value));
    assert_true(is_bits(slope(y, x), 100));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a9_aliases),           cmocka_unit_test(a25_conventions),
        cmocka_unit_test(a25_zero_adjoints_stop), cmocka_unit_test(a24_passive_exponents),
        cmocka_unit_test(a11_branch_not_taken), cmocka_unit_test(a12_no_exceptions),
        cmocka_unit_test(a12_constants_raise_nothing), cmocka_unit_test(a12_infinite_adjoints),
        cmocka_unit_test(a13_ties),             cmocka_unit_test(a14_reverse_again),
        cmocka_unit_test(a20_cancelling_steps),
    };
    return cmocka_run_group_tests(tests, make_tape, end_tape);
}
