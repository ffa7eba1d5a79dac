/* Forward mode on a tape and on duals, fad_sum_check, fad_sum_find_nan. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Forward mode ---- */

/* Random expressions: tangents are gradients times directions, each product and sum of which may lose 1 u: the bound of
 * expression.h for the paths, and that of the dot product. */
static void tangents_of_random_expressions(void **state)
{
    struct dice d = {12};
    fad_tape *t = fad_tape_create();
    (void)state;
    for (unsigned run = 0; run < 200; run++) {
        struct expression e;
        struct reference r;
        double in[EXPRESSION_INPUTS], seeds[3][EXPRESSION_INPUTS], tangent[3];
        fad_real a[EXPRESSION_INPUTS];
        assert_int_equal(fad_tape_rewind(t, NULL), 0);
        for (unsigned j = 0; j < EXPRESSION_INPUTS; j++) {
            in[j] = dice_between(&d, -2, 2);
            a[j] = fad_input(t, in[j]);
            for (unsigned i = 0; i < 3; i++)
                seeds[i][j] = dice_between(&d, -1, 1);
        }
        expression_wild(&e, &d, in, 8 + (unsigned)dice_below(&d, 30));
        fad_real y = expression_run(t, &e, a, NULL);
        expression_reference(&e, in, &r);
        assert_int_equal(fad_tape_forward(t, y, 3, EXPRESSION_INPUTS, a, seeds[0], tangent), 0);
        for (unsigned i = 0; i < 3; i++) {
            long double sum = 0, bound = 0;
            for (unsigned j = 0; j < EXPRESSION_INPUTS; j++) {
                sum += r.gradient[j] * seeds[i][j];
                bound += fabsl(seeds[i][j]) * (r.error[j] + 1.01L * UNIT * (2 * r.edges + 8) * (r.paths[j] + r.error[j]));
            }
            if (!(fabsl(sum - tangent[i]) <= bound))
                fail_msg("run %u: %.17g instead of %.17Lg", run, tangent[i], sum);
        }
    }
    assert_int_equal(fad_tape_destroy(t), 0);
}

static void forward_on_a_tape(void **state)
{
    fad_tape *t = fad_tape_create();
    fad_real x = fad_input(t, 3), y = fad_input(t, 0), none = fad_const(7);
    fad_real u = fad_mul(t, x, x), z = fad_add(t, fad_mul(t, u, x), fad_mul(t, 0.0, fad_sqrt(t, y)));
    const fad_real in[] = {x, y, u, none};
    const double seeds[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 5, 1, 1, 1, 1};
    double tangent[4] = {9, 9, 9, 9}, slope;
    (void)state;
    /* in x, in y (where 0 stops an infinite tangent), in the intermediate result u, in all */
    assert_int_equal(fad_tape_forward(t, z, 4, 4, in, seeds, tangent), 0);
    assert_true(tangent[0] == 27 && tangent[1] == 0 && tangent[2] == 3 && tangent[3] == 30);
    assert_int_equal(fad_tape_forward(t, z, 1, 4, in, seeds, tangent + 1), 0);
    assert_true(tangent[1] == 27); /* again, and more may be recorded */
    assert_int_equal(fad_tape_reverse(t, fad_square(t, z), 1, 1, &x, &slope), 0);
    assert_true(slope == 2 * 27 * 27);
    assert_int_equal(fad_tape_forward(t, none, 1, 4, in, seeds, tangent), 0);
    assert_true(tangent[0] == 0);
    /* operations on arrays stop too */
    fad_real root = fad_sqrt(t, y), zero[] = {fad_const(0), fad_const(0), fad_const(2)};
    const fad_real list[] = {root, none, x};
    assert_int_equal(fad_tape_forward(t, fad_dot(t, 3, zero, list), 1, 4, in, seeds + 12, tangent), 0);
    assert_true(tangent[0] == 2);
    assert_int_equal(fad_tape_forward(NULL, z, 1, 4, in, seeds, tangent), FAD_EINVAL);
    assert_int_equal(fad_tape_forward(t, z, 1, 4, NULL, seeds, tangent), FAD_EINVAL);
    assert_int_equal(fad_tape_forward(t, z, 1, 4, in, seeds, NULL), FAD_EINVAL);
    assert_int_equal(fad_tape_rewind(t, NULL), 0);
    assert_int_equal(fad_tape_forward(t, z, 1, 4, in, seeds, tangent), FAD_EHANDLE);
    fad_fail(t, 5);
    assert_int_equal(fad_tape_forward(t, none, 1, 0, NULL, NULL, tangent), 5);
    assert_true(tangent[0] == 2);
    assert_int_equal(fad_tape_destroy(t), 0);
}

static int own_times_shared(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    (void)user;
    if (k == 99)
        return 4;
    y[0] = fad_mul(t, a[0], x[0]);
    y[1] = fad_add(t, (double)fad_element_count(t), fad_mul(t, (double)k, x[1]));
    return 0;
}

static int of_another_tape(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    (void)t, (void)k, (void)a, (void)x;
    *y = *(const fad_real *)user;
    return 0;
}

static void terms_on_duals(void **state)
{
    double da[] = {1, 0, 0}, dx[] = {0, 1, 0}, dy[2][3];
    struct fad_dual a = {5, da}, x[] = {{7, dx}, {2, NULL}}, y[] = {{0, dy[0]}, {0, dy[1]}};
    (void)state;
    assert_int_equal(fad_dual_term(own_times_shared, 3, 1, &a, 2, x, 2, y, 3, NULL), 0);
    assert_true(y[0].value == 35 && y[1].value == 8);
    assert_true(dy[0][0] == 7 && dy[0][1] == 5 && dy[0][2] == 0 && dy[1][0] == 0 && dy[1][1] == 0);
    y[0].value = -1;
    assert_int_equal(fad_dual_term(own_times_shared, 99, 1, &a, 2, x, 2, y, 3, NULL), 4);
    assert_int_equal(fad_dual_term(NULL, 0, 1, &a, 2, x, 2, y, 3, NULL), FAD_EINVAL);
    assert_int_equal(fad_dual_term(own_times_shared, 0, 1, NULL, 2, x, 2, y, 3, NULL), FAD_EINVAL);
    fad_tape *other = fad_tape_create();
    fad_real foreign = fad_input(other, 1);
    assert_int_equal(fad_dual_term(of_another_tape, 0, 1, &a, 2, x, 1, y, 3, &foreign), FAD_EHANDLE);
    assert_int_equal(fad_tape_destroy(other), 0);
    assert_true(y[0].value == -1 && dy[0][0] == 7);
}

/* ---- Checks ---- */

enum { PARAMETERS = 5, TERMS = 30 };

/* What fad_value hides from the gradient makes it wrong. */
static int smooth(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    const int *hidden = user;
    fad_real s = fad_const(0.1 * (double)k);
    (void)x;
    for (int j = 0; j < PARAMETERS; j++) {
        fad_real p = *hidden == j ? fad_const(fad_value(t, a[j])) : a[j];
        s = fad_add(t, s, fad_sin(t, fad_mul(t, p, 1.0 + 0.01 * (double)k + j)));
    }
    *y = fad_mul(t, s, fad_exp(t, fad_mul(t, -0.1, s)));
    return 0;
}

static struct fad_sum smooth_sum(const double *a, int *hidden)
{
    struct fad_sum s;
    memset(&s, 0, sizeof s);
    s.terms = TERMS;
    s.shared = a;
    s.shared_count = PARAMETERS;
    s.term = smooth;
    s.user = hidden;
    return s;
}

static void good_and_bad_gradients(void **state)
{
    const double a[PARAMETERS] = {0.3, -1.2, 0.01, 40, 0.7};
    unsigned char fixed[PARAMETERS] = {0};
    (void)state;
    for (int hidden = -1; hidden < PARAMETERS; hidden++) {
        struct fad_sum s = smooth_sum(a, &hidden);
        struct fad_check worst;
        assert_int_equal(fad_sum_check(pool_with(2), &s, &worst), 0);
        assert_true(worst.forward && worst.value == 0);
        if (hidden < 0) {
            assert_true(worst.excess <= 1 && worst.bound < 1e-3);
            continue;
        }
        assert_true(worst.excess > 1 && worst.parameter == (size_t)hidden && worst.gradient == 0 && worst.other != 0);
        assert_string_equal(worst.against, "finite differences");
        fixed[hidden] = 1; /* left out */
        s.shared_fixed = fixed;
        assert_int_equal(fad_sum_check(NULL, &s, &worst), 0);
        assert_true(worst.excess <= 1);
        fixed[hidden] = 0;
    }
}

/* A term that is defined at the parameters alone fails elsewhere: no difference is compared, and that is no error. */
static int nowhere_else(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    (void)k, (void)x, (void)user;
    *y = fad_square(t, a[0]);
    return a[0].value == 3 ? 0 : 6;
}

static void terms_that_fail_nearby(void **state)
{
    const double a = 3;
    struct fad_sum s = smooth_sum(&a, NULL);
    struct fad_check worst;
    (void)state;
    s.shared_count = 1;
    s.term = nowhere_else;
    assert_int_equal(fad_sum_check(pool_with(2), &s, &worst), 0);
    assert_true(worst.gradient == 6 * TERMS && worst.excess <= 1);
    assert_string_equal(worst.against, "forward mode");
}

static void checks_that_fail(void **state)
{
    const double a[PARAMETERS] = {0};
    int hidden = -1;
    struct fad_sum s = smooth_sum(a, &hidden);
    struct fad_check worst = {.value = 17};
    (void)state;
    assert_int_equal(fad_sum_check(NULL, NULL, &worst), FAD_EINVAL);
    assert_int_equal(fad_sum_check(NULL, &s, NULL), FAD_EINVAL);
    s.shared = NULL;
    assert_int_equal(fad_sum_check(NULL, &s, &worst), FAD_EINVAL);
    assert_true(worst.value == 17);
    s.shared_count = 0;
    s.terms = 0;
    assert_int_equal(fad_sum_check(NULL, &s, &worst), 0);
    assert_true(worst.parameter == SIZE_MAX);
}

/* ---- NaN ---- */

struct nan_case {
    size_t element;
    int kind;
};

static int with_nan(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    const struct nan_case *c = user;
    fad_real v = fad_mul(t, a[0], x[0]); /* operation 0 */
    int kind = k >= c->element ? c->kind : 0;
    *y = fad_exp(t, v); /* 1 */
    switch (kind) {
    case 1: /* 2: -v; 3: its logarithm */
        *y = fad_add(t, fad_log(t, fad_neg(t, v)), fad_sqrt(t, fad_neg(t, v)));
        break;
    case 2: /* 2: 0; 3: its square; 4: a root with partial inf, which 3 multiplies by 0 */
        *y = fad_sqrt(t, fad_square(t, fad_sub(t, v, fad_value(t, v))));
        break;
    case 3:
        *y = fad_add(t, *y, (double)NAN);
        break;
    case 4:
        *y = fad_const((double)NAN);
        break;
    case 5: {
        fad_real b[2] = {v, fad_const((double)NAN)};
        *y = fad_norm2(t, 2, b);
        break;
    }
    case 6:
        *y = fad_fma(t, v, 2, (double)NAN);
        break;
    case 7:
        *y = fad_max(t, v, fad_log(t, fad_neg(t, v)));
        break;
    case 8:
        *y = fad_add(t, v, fad_input(t, (double)NAN));
        break;
    case 9: { /* 2, 3: 0; 4, 5: their fma; 6: nobody's; 7, 8: roots, of which 5 gets +inf and 3 both infinities */
        fad_real p = fad_sub(t, v, fad_value(t, v)), r = fad_sub(t, v, fad_value(t, v)), f = fad_fma(t, p, v, r);
        (void)fad_cos(t, v);
        fad_real of_r = fad_sqrt(t, r);
        *y = fad_sub(t, fad_sqrt(t, f), of_r);
        break;
    }
    case 10: /* both are fine, and the choice goes on through them */
        *y = fad_log(t, fad_neg(t, fad_min(t, fad_max(t, v, *y), fad_fma(t, v, v, *y))));
        break;
    default:
        break;
    }
    return k == 77 ? 3 : 0;
}

static void the_first_nan(void **state)
{
    double a = 1, x[90];
    struct nan_case c = {23, 0};
    struct fad_sum s;
    struct fad_nan first;
    (void)state;
    for (unsigned k = 0; k < 90; k++)
        x[k] = 1 + k;
    memset(&s, 0, sizeof s);
    s.terms = 60;
    s.leaf = s.grain = 1;
    s.shared = &a;
    s.shared_count = 1;
    s.x = x;
    s.x_count = 1;
    s.term = with_nan;
    s.user = &c;
    for (unsigned workers = 1; workers <= 8; workers *= 2) {
        fad_pool *pool = pool_with(workers);
        c.kind = 0;
        assert_int_equal(fad_sum_find_nan(pool, &s, &first), 0);
        assert_true(first.index == SIZE_MAX);
        c.kind = 1;
        assert_int_equal(fad_sum_find_nan(pool, &s, &first), 0);
        assert_true(first.index == 23 && first.position == 3 && !first.derivative);
        assert_string_equal(first.operation, "log");
        assert_true(first.operand_count == 1 && first.operands[0] == -24 && isnan(first.value));
        c.kind = 2;
        assert_int_equal(fad_sum_find_nan(pool, &s, &first), 0);
        assert_true(first.index == 23 && first.position == 3 && first.derivative);
        assert_string_equal(first.operation, "square");
        assert_true(first.operands[0] == 0);
        c.kind = 3;
        assert_int_equal(fad_sum_find_nan(pool, &s, &first), 0);
        assert_string_equal(first.operation, "add");
        assert_true(first.operand_count == 2 && isnan(first.operands[1]) && !isnan(first.operands[0]));
        c.kind = 4;
        assert_int_equal(fad_sum_find_nan(pool, &s, &first), 0);
        assert_string_equal(first.operation, "result");
        assert_true(first.index == 23);
        c.kind = 5;
        assert_int_equal(fad_sum_find_nan(pool, &s, &first), 0);
        assert_string_equal(first.operation, "norm2");
        assert_true(first.operand_count == 0 && first.position == 2);
        c.kind = 6;
        assert_int_equal(fad_sum_find_nan(pool, &s, &first), 0);
        assert_string_equal(first.operation, "fma");
        assert_true(first.operand_count == 3 && first.operands[1] == 2 && isnan(first.operands[2]));
        c.kind = 7;
        assert_int_equal(fad_sum_find_nan(pool, &s, &first), 0);
        assert_string_equal(first.operation, "log");
        c.kind = 8;
        assert_int_equal(fad_sum_find_nan(pool, &s, &first), 0);
        assert_string_equal(first.operation, "input");
        assert_true(first.operand_count == 0 && first.position == 2);
        c.kind = 9;
        assert_int_equal(fad_sum_find_nan(pool, &s, &first), 0);
        assert_string_equal(first.operation, "fma");
        assert_true(first.index == 23 && first.derivative && first.position == 5);
        c.kind = 10;
        assert_int_equal(fad_sum_find_nan(pool, &s, &first), 0);
        assert_string_equal(first.operation, "log");
        assert_true(first.index == 23 && !first.derivative && first.operands[0] < 0);
    }
    c.kind = 0;
    s.terms = 90;
    first.index = 5;
    assert_int_equal(fad_sum_find_nan(NULL, &s, &first), 3); /* the user's failure */
    assert_int_equal(fad_sum_find_nan(NULL, &s, NULL), FAD_EINVAL);
    assert_int_equal(fad_sum_find_nan(NULL, NULL, &first), FAD_EINVAL);
    assert_true(first.index == 5);
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
        cmocka_unit_test(tangents_of_random_expressions),
        cmocka_unit_test(forward_on_a_tape),
        cmocka_unit_test(terms_on_duals),
        cmocka_unit_test(good_and_bad_gradients),
        cmocka_unit_test(checks_that_fail),
        cmocka_unit_test(terms_that_fail_nearby),
        cmocka_unit_test(the_first_nan),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
