/* Errors of tapes: missing tapes, handles of other recordings, memory that cannot be had, codes of the user. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/expression.h"

#include <math.h>
#include <string.h>

static bool is_nan_constant(fad_real a)
{
    return a.id == 0 && a.stamp == 0 && isnan(a.value);
}

/* ---- no tape ---- */

static void a_missing_tape(void **state)
{
    fad_real x = fad_input(NULL, 3), one = fad_const(1);
    double g;
    (void)state;
    assert_true(is_nan_constant(x));
    assert_true(is_bits(fad_value(NULL, fad_mul(NULL, fad_add(NULL, 1, 2), fad_exp(NULL, 0))), 3));
    assert_int_equal(fad_tape_destroy(NULL), 0);
    assert_int_equal(fad_tape_reverse(NULL, one, 1, 1, &one, &g), FAD_EINVAL);
    assert_int_equal(fad_tape_rewind(NULL, NULL), FAD_EINVAL);
    assert_int_equal(fad_tape_trace(NULL, true), FAD_EINVAL);
    assert_int_equal(fad_tape_error(NULL), FAD_EINVAL);
    assert_int_equal(fad_tape_digest(NULL), 0);
    assert_int_equal(fad_element_count(NULL), 0);
    fad_fail(NULL, 3);
    (void)fad_tape_mark(NULL);
    (void)fad_alloc(NULL, 3);
}

/* ---- each operation, each operand ---- */

/* Operands that are good for every operation. */
static void good_operands(fad_tape *t, fad_real *a)
{
    for (unsigned i = 0; i < EXPRESSION_OPERANDS; i++)
        a[i] = fad_input(t, 0.25 + 0.0625 * i);
}

static bool selects(enum operation op)
{
    return op == OP_SELECT_LT || op == OP_SELECT_LE || op == OP_SELECT_MIXED;
}

/* An operand that is wrong is found wherever it stands: beside constants, beside good ones, chosen or not. */
static void check_foreign(fad_tape *t, const struct step *s, fad_real wrong, unsigned at, unsigned others)
{
    fad_real a[EXPRESSION_OPERANDS], y;
    double g, untouched;
    pattern_fill(&g, sizeof g);
    untouched = g;
    assert_int_equal(fad_tape_rewind(t, NULL), 0);
    good_operands(t, a);
    fad_real mine = a[0];
    for (unsigned i = 0; i < EXPRESSION_OPERANDS; i++)
        if (i == at)
            a[i] = wrong;
        else if (others >> i & 1)
            a[i] = fad_const(a[i].value);
    y = expression_step(t, s, a);
    if (selects(s->op)) /* it only passes handles on */
        return;
    if (!is_nan_constant(y) || fad_tape_error(t) != FAD_EHANDLE)
        fail_msg("%s, operand %u, others %x: error %d", operation_name(s->op), at, others, fad_tape_error(t));
    assert_int_equal(fad_tape_reverse(t, mine, 1, 1, &mine, &g), FAD_EHANDLE);
    assert_true(is_nan_constant(fad_add(t, mine, 1)) && is_nan_constant(fad_input(t, 1)) &&
                is_nan_constant(fad_dot(t, 1, &mine, &mine)) && is_nan_constant(fad_sum_of(t, 1, &mine)));
    fad_fail(t, 5); /* the first error stays */
    assert_int_equal(fad_tape_error(t), FAD_EHANDLE);
    assert_int_equal(fad_tape_rewind(t, &(struct fad_mark){0}) != 0, 1);
    assert_true(same_bits(&g, &untouched, sizeof g));
}

static void each_operation_finds_foreign_operands(void **state)
{
    fad_tape *t = fad_tape_create(), *other = fad_tape_create(), *traced = fad_tape_create();
    fad_real wrong[4];
    (void)state;
    fad_tape_trace(traced, true);
    for (unsigned i = 0; i < 3; i++) {
        wrong[i] = fad_input(other, 0.3125); /* ids that the good ones have too, and one beyond */
        for (unsigned j = 0; j < 4; j++)
            fad_input(other, 0);
    }
    for (enum operation op = OP_ADD; op < OP_COUNT; op++) {
        struct dice d = {op};
        for (unsigned round = 0; round < 40; round++) {
            struct step s;
            step_random(&s, op, &d);
            fad_tape_rewind(t, NULL);
            wrong[3] = fad_input(t, 0.3125); /* of an earlier recording of the same tape */
            for (unsigned at = 0; at < s.count; at++) {
                check_foreign(t, &s, wrong[round % 4], at, round < 4 ? 0xff : round < 8 ? 0 : (unsigned)dice_bits(&d));
                if (round % 4 < 3)
                    check_foreign(traced, &s, wrong[round % 4], at, (unsigned)dice_bits(&d));
            }
        }
    }
    assert_int_equal(fad_tape_rewind(t, NULL), 0);
    fad_real x = fad_input(t, 3), y = fad_mul(t, x, x);
    double g;
    assert_int_equal(fad_tape_reverse(t, y, 1, 1, &x, &g), 0);
    assert_true(g == 6);
    fad_tape_destroy(t);
    fad_tape_destroy(other);
    fad_tape_destroy(traced);
}

/* A tape that is missing where operands are not constant: NaN, and no crash. */
static void operands_without_their_tape(void **state)
{
    fad_tape *t = fad_tape_create();
    fad_real a[EXPRESSION_OPERANDS];
    (void)state;
    good_operands(t, a);
    for (enum operation op = OP_ADD; op < OP_COUNT; op++) {
        struct dice d = {op};
        struct step s;
        step_random(&s, op, &d);
        fad_real y = expression_step(NULL, &s, a);
        if (!selects(op) && !is_nan_constant(y))
            fail_msg("%s", operation_name(op));
    }
    fad_tape_destroy(t);
}

/* reverse: a wrong y or input is refused, outputs stay, and the tape goes on. */
static void reverse_refuses(void **state)
{
    fad_tape *t = fad_tape_create(), *other = fad_tape_create();
    double g[2];
    (void)state;
    fad_real old = fad_input(t, 1);
    fad_tape_rewind(t, NULL);
    fad_real x[2] = {fad_input(t, 2), fad_input(t, 5)}, y = fad_mul(t, x[0], x[1]);
    for (int i = 0; i < 3; i++)
        fad_input(other, 0);
    fad_real theirs = fad_input(other, 1), bad[2] = {x[0], theirs}, stale[2] = {old, x[1]};
    fad_real selected = fad_select(t, fad_lt(t, x[0], x[1]), theirs, x[0]);
    pattern_fill(g, sizeof g);
    assert_int_equal(fad_tape_reverse(t, theirs, 1, 2, x, g), FAD_EHANDLE);
    assert_int_equal(fad_tape_reverse(t, old, 1, 2, x, g), FAD_EHANDLE);
    assert_int_equal(fad_tape_reverse(t, y, 1, 2, bad, g), FAD_EHANDLE);
    assert_int_equal(fad_tape_reverse(t, y, 1, 2, stale, g), FAD_EHANDLE);
    assert_int_equal(fad_tape_reverse(t, selected, 1, 2, x, g), FAD_EHANDLE);
    assert_int_equal(fad_tape_reverse(t, y, 1, 2, NULL, g), FAD_EINVAL);
    assert_int_equal(fad_tape_reverse(t, y, 1, 2, x, NULL), FAD_EINVAL);
    assert_true(pattern_intact(g, sizeof g));
    assert_int_equal(fad_tape_reverse(t, y, 1, 0, NULL, NULL), 0);
    assert_int_equal(fad_tape_reverse(t, y, 1, 2, x, g), 0);
    assert_true(g[0] == 5 && g[1] == 2);
    fad_tape_destroy(t);
    fad_tape_destroy(other);
}

/* ---- marks ---- */

static void marks_of_other_recordings(void **state)
{
    fad_tape *t = fad_tape_create(), *other = fad_tape_create();
    double g;
    (void)state;
    fad_real x = fad_input(t, 2);
    fad_input(other, 2);
    struct fad_mark early = fad_tape_mark(t), foreign = fad_tape_mark(other), late;
    fad_real v[3] = {x, fad_exp(t, x), x};
    fad_dot(t, 3, v, v + 0);
    late = fad_tape_mark(t);
    assert_int_equal(fad_tape_rewind(t, &foreign), FAD_EHANDLE);
    assert_int_equal(fad_tape_rewind(t, &early), 0);
    assert_int_equal(fad_tape_rewind(t, &late), FAD_EHANDLE); /* the rewind went behind it */
    for (int i = 0; i < 100; i++) { /* x stays good, and what is recorded after a rewind too */
        fad_real y = fad_mul(t, x, (double)i);
        for (int j = 0; j < i; j++)
            y = fad_add(t, fad_dot(t, 2, v, (fad_real[]){x, fad_const(0)}), y);
        assert_int_equal(fad_tape_reverse(t, y, 1, 1, &x, &g), 0);
        assert_true(g == 5 * i); /* i + 2 x i */
        assert_int_equal(fad_tape_rewind(t, &early), 0);
    }
    assert_int_equal(fad_tape_rewind(t, NULL), 0);
    assert_int_equal(fad_tape_rewind(t, &early), FAD_EHANDLE);
    fad_fail(t, 12);
    assert_int_equal(fad_tape_trace(t, true), 12);
    fad_tape_destroy(t);
    fad_tape_destroy(other);
}

/* ---- fad_fail, fad_alloc ---- */

static void user_codes(void **state)
{
    static const int given[] = {7, 1, INT32_MAX, 0, -1, -100, INT32_MIN};
    fad_tape *t = fad_tape_create();
    (void)state;
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        double g;
        assert_int_equal(fad_tape_rewind(t, NULL), 0);
        fad_real x = fad_input(t, 1), a = fad_const(1);
        fad_fail(t, given[i]);
        fad_fail(t, 99);
        int expected = given[i] > 0 ? given[i] : FAD_EINVAL;
        assert_int_equal(fad_tape_error(t), expected);
        assert_true(is_nan_constant(fad_add(t, x, 1)) && is_nan_constant(fad_exp(t, x)) &&
                    is_nan_constant(fad_norm2(t, 1, &x)));
        assert_true(fad_value(t, fad_add(t, a, 1)) == 2); /* nothing that is recorded */
        pattern_fill(&g, sizeof g);
        assert_int_equal(fad_tape_reverse(t, x, 1, 1, &x, &g), expected);
        assert_true(pattern_intact(&g, sizeof g));
    }
    fad_tape_destroy(t);
}

static void memory_that_cannot_be_had(void **state)
{
    static const size_t counts[] = {SIZE_MAX, SIZE_MAX / 16, SIZE_MAX / 16 + 1, SIZE_MAX / 64, (size_t)1 << 55};
    fad_tape *t = fad_tape_create();
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        assert_int_equal(fad_tape_rewind(t, NULL), 0);
        assert_non_null(fad_alloc(t, 0));
        (void)fad_alloc(t, counts[i]);
        assert_true(fad_tape_error(t) == FAD_EOVERFLOW || fad_tape_error(t) == FAD_ENOMEM);
        assert_true(is_nan_constant(fad_input(t, 1)));
        fad_real *small = fad_alloc(t, 2);
        if (small) /* a term that does not look writes to it */
            small[0] = small[1] = fad_const(0);
    }
    assert_int_equal(fad_tape_rewind(t, NULL), 0);
    fad_real *a[50];
    for (size_t i = 0; i < 50; i++) { /* stretches do not overlap, and survive growth and operations */
        a[i] = fad_alloc(t, i * i * 20);
        for (size_t j = 0; j < i * i * 20; j++)
            a[i][j] = fad_input(t, (double)i);
    }
    for (size_t i = 0; i < 50; i++)
        for (size_t j = 0; j < i * i * 20; j++)
            assert_true(a[i][j].value == (double)i);
    assert_int_equal(fad_tape_error(t), 0);
    fad_tape_destroy(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_tape),  cmocka_unit_test(each_operation_finds_foreign_operands),
        cmocka_unit_test(operands_without_their_tape), cmocka_unit_test(reverse_refuses),
        cmocka_unit_test(marks_of_other_recordings), cmocka_unit_test(user_codes),
        cmocka_unit_test(memory_that_cannot_be_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
