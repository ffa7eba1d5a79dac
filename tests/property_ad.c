/* Random expressions over all operations: values and gradients against long double, within bounds that expression.h and
 * expression_rules.c derive, and against central differences. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/expression.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void report(const char *what, uint64_t seed, const struct step *s, double got, long double expected,
                   long double bound)
{
    fail_msg("%s, seed %llu, %s: %.17g, should be %.21Lg, allowed %.3Lg, off %.3Lg", what, (unsigned long long)seed,
             s ? operation_name(s->op) : "all", got, expected, bound, fabsl(got - expected));
}

/* not (<=): a NaN is not within anything */
static bool within(double got, long double expected, long double bound)
{
    return fabsl(got - expected) <= bound;
}

/* ---- one operation ---- */

static void check_step(fad_tape *t, const struct step *s, const double *operand, unsigned active, uint64_t seed)
{
    fad_real a[EXPRESSION_OPERANDS];
    double g[EXPRESSION_OPERANDS];
    long double x[EXPRESSION_OPERANDS];
    struct step own = *s;
    struct rule r;
    assert_int_equal(fad_tape_rewind(t, NULL), 0);
    for (unsigned i = 0; i < s->count; i++) {
        x[i] = operand[i];
        a[i] = active >> i & 1 ? fad_input(t, operand[i]) : fad_const(operand[i]);
        own.operand[i] = (unsigned char)i;
    }
    rule_of(s, x, &r);
    fad_real y = expression_step(t, &own, a);
    assert_int_equal(fad_tape_reverse(t, y, 1, s->count, a, g), 0);
    if (!within(y.value, r.value, r.value_loss))
        report("value", seed, s, y.value, r.value, r.value_loss);
    for (unsigned i = 0; i < s->count; i++) {
        /* an array's operand is counted once, and nothing else is added to it: no error of the sweep */
        long double p = active >> i & 1 ? r.partial[i] : 0;
        if (!within(g[i], p, active >> i & 1 ? r.partial_loss[i] : 0))
            report("partial", seed, s, g[i], p, r.partial_loss[i]);
    }
}

static bool draw_operands(const struct step *s, struct dice *d, double *operand)
{
    struct rule r;
    long double x[EXPRESSION_OPERANDS];
    for (unsigned i = 0; i < s->count; i++) {
        double size = exp2(dice_between(d, -12, 5));
        operand[i] = dice_bits(d) & 1 ? size : -size;
        if (dice_below(d, 4) == 0)
            operand[i] = (double)(int)dice_between(d, -4, 5); /* ties, zeros, whole exponents */
        x[i] = operand[i];
    }
    if ((s->op == OP_LGAMMA || s->op == OP_TGAMMA) && x[0] <= 0.5L && fabsl(x[0] - roundl(x[0])) < 1e-4L)
        return false;
    rule_of(s, x, &r);
    bool good = isfinite(r.value) && fabsl(r.value) < 1e100L;
    for (unsigned i = 0; i < s->count; i++)
        good = good && isfinite(r.partial[i]) && fabsl(r.partial[i]) < 1e100L;
    return good;
}

/* Each operation by itself, with every choice of which operands are constants. */
static void each_operation_alone(void **state)
{
    fad_tape *t = fad_tape_create(), *traced = fad_tape_create();
    (void)state;
    assert_int_equal(fad_tape_trace(traced, true), 0);
    for (enum operation op = OP_CONSTANT + 1; op < OP_COUNT; op++) {
        struct dice d = {1000u * (unsigned)op};
        unsigned tried = 0;
        for (unsigned i = 0; i < 4000; i++) {
            uint64_t seed = d.state;
            struct step s;
            double operand[EXPRESSION_OPERANDS];
            step_random(&s, op, &d);
            if (!draw_operands(&s, &d, operand))
                continue;
            tried++;
            check_step(t, &s, operand, i % 3 ? 0xff : (unsigned)dice_bits(&d), seed);
            check_step(traced, &s, operand, 0xff, seed);
        }
        if (tried < 400)
            fail_msg("%s: only %u operands were in its domain", operation_name(op), tried);
    }
    fad_tape_destroy(t);
    fad_tape_destroy(traced);
}

/* ---- expressions ---- */

static void random_expressions(void **state)
{
    fad_tape *t = fad_tape_create();
    char why[256];
    unsigned clear = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        struct dice d = {seed << 32};
        struct expression e;
        struct reference r;
        double inputs[EXPRESSION_INPUTS];
        for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
            inputs[j] = dice_between(&d, -3, 3);
        if (seed % 2)
            expression_wild(&e, &d, inputs, EXPRESSION_OPERANDS + 2 + (unsigned)dice_below(&d, EXPRESSION_STEPS - 10));
        else
            expression_tame(&e, &d, 16 + (unsigned)dice_below(&d, EXPRESSION_STEPS - 16));
        assert_int_equal(fad_tape_rewind(t, NULL), 0);
        if (!expression_holds(t, &e, inputs, why, sizeof why))
            fail_msg("seed %llu: %s", (unsigned long long)seed, why);
        expression_reference(&e, inputs, &r);
        clear += isfinite(r.value_error);
    }
    assert_true(clear > 1500); /* the checks that need a clear value did take place */
    fad_tape_destroy(t);
}

/* ---- what is not taken leaves no trace ---- */

static double odd_operand(struct dice *d)
{
    static const double odd[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1.0, -1.0, 1e308, -1e308, 5e-324, 710.0, -2.5};
    return odd[dice_below(d, sizeof odd / sizeof *odd)];
}

/* Any operations on any operands, infinities and NaN and their singular points included, in a branch that fad_select does
 * not take: the gradient has the bits that it has without them. A11 in general. */
static void a_branch_not_taken_leaves_no_trace(void **state)
{
    fad_tape *t = fad_tape_create();
    (void)state;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        struct dice d = {seed << 32 | 7};
        struct expression e;
        double inputs[EXPRESSION_INPUTS], expected[EXPRESSION_INPUTS], g[EXPRESSION_INPUTS];
        fad_real x[EXPRESSION_INPUTS], r[EXPRESSION_REGISTERS];
        assert_int_equal(fad_tape_rewind(t, NULL), 0);
        for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
            inputs[j] = dice_between(&d, -2, 2);
        expression_tame(&e, &d, 24);
        for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
            x[j] = fad_input(t, inputs[j]);
        fad_real y = expression_run(t, &e, x, NULL);
        assert_int_equal(fad_tape_reverse(t, y, 1, EXPRESSION_INPUTS, x, expected), 0);
        for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
            r[j] = dice_bits(&d) & 1 ? fad_add(t, fad_mul(t, x[j], 0.0), odd_operand(&d)) : x[j];
        for (unsigned i = 0; i < 20; i++) {
            struct step s;
            step_random_on(&s, (enum operation)dice_below(&d, OP_COUNT), &d, EXPRESSION_INPUTS + i);
            r[EXPRESSION_INPUTS + i] = expression_step(t, &s, r);
        }
        fad_real poison = fad_logsumexp(t, EXPRESSION_INPUTS + 20, r);
        fad_real z = dice_bits(&d) & 1 ? fad_select(t, fad_lt(t, poison, NAN), poison, y)
                                       : fad_select(t, fad_eq(t, y, y), y, poison);
        assert_int_equal(fad_tape_reverse(t, z, 1, EXPRESSION_INPUTS, x, g), 0);
        if (!same_bits(g, expected, sizeof g) || !is_bits(z.value, y.value))
            fail_msg("seed %llu: the branch not taken is seen", (unsigned long long)seed);
        assert_int_equal(fad_tape_error(t), 0);
    }
    fad_tape_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_operation_alone),
        cmocka_unit_test(random_expressions),
        cmocka_unit_test(a_branch_not_taken_leaves_no_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
