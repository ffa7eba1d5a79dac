/* Conventions of derivatives in uniform sums: corners.h and the faults of cases_ad.c once more, a block of elements at once. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/corners.h"

#include <math.h>
#include <string.h>

#define INF INFINITY
enum { MOST_ROWS = 64, MOST_OWN = 4 };

/* Rows of corners of the same operation with the same number of operands. */
struct rows {
    const struct corner *row[MOST_ROWS];
    size_t n;
    double x[MOST_ROWS * MOST_OWN];
    unsigned constants; /* operands that are not the element's own but data */
};

static bool same_kind(const struct corner *a, const struct corner *b)
{
    return a->op == b->op && a->count == b->count;
}

/* The rows of corner `first`, if it is the first of its kind. */
static bool collect(size_t first, struct rows *r)
{
    r->n = 0;
    r->constants = 0;
    for (size_t i = 0; i < first; i++)
        if (same_kind(corners + i, corners + first))
            return false;
    for (size_t i = first; i < corner_count; i++) {
        if (!same_kind(corners + i, corners + first))
            continue;
        memcpy(r->x + r->n * corners[first].count, corners[i].x, corners[first].count * sizeof(double));
        r->row[r->n++] = corners + i;
    }
    return true;
}

static fad_real operate(fad_tape *t, size_t k, const fad_real *x, const struct rows *r)
{
    const struct corner *c = r->row[0];
    struct step s = {.op = c->op, .count = c->count};
    fad_real a[EXPRESSION_OPERANDS];
    for (unsigned i = 0; i < c->count; i++) {
        s.operand[i] = (unsigned char)i;
        a[i] = r->constants >> i & 1 ? fad_data(t, r->x + i, c->count, k) : x[i];
    }
    return expression_step(t, &s, a);
}

static int own_operands(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user)
{
    (void)shared;
    *y = operate(t, k, x, user);
    return 0;
}

static struct fad_sum sum_of(struct rows *r, fad_term *term)
{
    struct fad_sum s;
    memset(&s, 0, sizeof s);
    s.terms = r->n;
    s.x = r->x;
    s.x_count = r->row[0]->count;
    s.term = term;
    s.user = r;
    s.uniform = true;
    return s;
}

/* A program computes the partials of norm2 as x * (1 / norm): one more rounding than x / norm, so 1 ulp may differ. */
static bool is_partial(enum operation op, double got, double expected)
{
    return is_output(got, expected) || (op == OP_NORM2 && fabs(got - expected) <= 0x1p-52 * fabs(expected));
}

/* The elements' partials in one call, and each value in a call of its own. */
static void the_elements_own_operands(void **state)
{
    (void)state;
    for (size_t first = 0; first < corner_count; first++) {
        struct rows r = {0};
        if (!collect(first, &r))
            continue;
        unsigned count = r.row[0]->count;
        for (; r.constants < 1u << count; r.constants++) {
            struct fad_sum s = sum_of(&r, own_operands);
            double g[MOST_ROWS * MOST_OWN], value;
            assert_int_equal(fad_sum_gradient(pool_with(2), &s, NULL, NULL, g), 0);
            for (size_t k = 0; k < r.n; k++) {
                for (unsigned i = 0; i < count; i++)
                    if (!is_partial(r.row[k]->op, g[k * count + i], r.constants >> i & 1 ? 0.0 : r.row[k]->partial[i]))
                        fail_msg("%s, row %zu, constants %x: partial %u is %.17g", operation_name(r.row[k]->op), k,
                                 r.constants, i, g[k * count + i]);
                s.first = k;
                s.count = 1;
                assert_int_equal(fad_sum_value(NULL, &s, &value), 0);
                if (!isnan(r.row[k]->value) && !is_output(value, r.row[k]->value + 0.0))
                    fail_msg("%s, row %zu: value %.17g", operation_name(r.row[k]->op), k, value);
            }
        }
    }
}

static int shared_operands(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user)
{
    (void)x;
    *y = operate(t, k, shared, user);
    return 0;
}

/* What depends on shared parameters alone is computed once; twice the same element doubles its gradient. */
static void shared_parameters_as_operands(void **state)
{
    (void)state;
    for (size_t i = 0; i < corner_count; i++) {
        const struct corner *c = corners + i;
        for (size_t n = 1; n <= 2; n++) {
            struct rows r = {.row = {c}, .n = n};
            struct fad_sum s = sum_of(&r, shared_operands);
            double g[MOST_OWN];
            s.x = NULL;
            s.x_count = 0;
            s.shared = c->x;
            s.shared_count = c->count;
            assert_int_equal(fad_sum_gradient(NULL, &s, NULL, g, NULL), 0);
            for (unsigned j = 0; j < c->count; j++)
                if (!is_partial(c->op, g[j], (double)n * c->partial[j]))
                    fail_msg("row %zu, %s, %zu elements: partial %u is %.17g", i, operation_name(c->op), n, j, g[j]);
        }
    }
}

/* ---- an adjoint of 0 ---- */

/* Where it stops by contract; elsewhere 0 times what is not finite may be NaN. */
static bool is_singular(enum operation op)
{
    switch (op) {
    case OP_DIV: case OP_INV: case OP_SQRT: case OP_CBRT: case OP_LOG: case OP_LOG1P: case OP_LOG1PEXP: case OP_LOGSUMEXP:
    case OP_EXP: case OP_EXPM1: case OP_POW: case OP_ASIN: case OP_ACOS: case OP_HYPOT: case OP_NORM2: case OP_LGAMMA:
    case OP_TGAMMA:
        return true;
    default:
        return false;
    }
}

/* Values: products with a constant 0, with a shared 0, with an own 0. */
static int zero_times(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user)
{
    const struct rows *r = user;
    fad_real z = operate(t, k, x, r), own_zero = fad_sub(t, x[0], x[0]);
    y[0] = fad_mul(t, 0, z);
    y[1] = fad_mul(t, z, shared[0]);
    y[2] = fad_mul(t, fad_mul(t, shared[0], z), 5);
    y[3] = fad_dot(t, 1, &z, shared);
    y[4] = fad_fma(t, shared[0], z, 3);
    y[5] = fad_mul(t, z, fad_select(t, fad_eq(t, own_zero, 0), fad_const(0), fad_const(0)));
    return 0;
}

static void adjoints_of_zero_stop(void **state)
{
    enum { VALUES = 6 };
    const double zero = 0;
    (void)state;
    for (size_t first = 0; first < corner_count; first++) {
        struct rows r = {0};
        if (!is_singular(corners[first].op) || !collect(first, &r))
            continue;
        struct fad_sum s = sum_of(&r, zero_times);
        double g[VALUES * MOST_ROWS * MOST_OWN];
        s.y_count = VALUES;
        s.shared = &zero;
        s.shared_count = 1;
        assert_int_equal(fad_sum_gradient(NULL, &s, NULL, NULL, g), 0);
        size_t width = r.n * s.x_count;
        for (size_t i = 0; i < VALUES * width; i++)
            if (!is_output(g[i], 0))
                fail_msg("%s, row %zu, product %zu: 0 times it has partial %.17g", operation_name(r.row[0]->op),
                         i % width / s.x_count, i / width, g[i]);
    }
}

/* ---- single faults ---- */

struct point {
    double x, value, slope;
};

static void check_points(const char *name, fad_term *term, const struct point *p, size_t n)
{
    double x[MOST_ROWS], g[MOST_ROWS], value;
    struct fad_sum s;
    for (size_t k = 0; k < n; k++)
        x[k] = p[k].x;
    memset(&s, 0, sizeof s);
    s.terms = n;
    s.x = x;
    s.x_count = 1;
    s.term = term;
    s.uniform = true;
    assert_int_equal(fad_sum_gradient(NULL, &s, NULL, NULL, g), 0);
    for (size_t k = 0; k < n; k++) {
        s.first = k;
        s.count = 1;
        assert_int_equal(fad_sum_value(NULL, &s, &value), 0);
        if (!is_output(g[k], p[k].slope) || !is_output(value, p[k].value))
            fail_msg("%s at %g: %.17g, slope %.17g", name, p[k].x, value, g[k]);
    }
}

#define POINTS(term, ...) \
    check_points(#term, term, (const struct point[]){__VA_ARGS__}, \
                 sizeof((const struct point[]){__VA_ARGS__}) / sizeof(struct point))
#define TERM(name) \
    static int name(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user)
#define UNUSED (void)k, (void)shared, (void)user

TERM(root_or_itself)
{
    UNUSED;
    *y = fad_select(t, fad_lt(t, 0, x[0]), fad_sqrt(t, x[0]), x[0]);
    return 0;
}

TERM(itself_or_logarithm)
{
    UNUSED;
    *y = fad_select(t, fad_le(t, x[0], 0), fad_mul(t, 7, x[0]), fad_log(t, x[0]));
    return 0;
}

/* infinite partials behind infinite partials, and sums and products that only a branch uses */
TERM(deep_branch)
{
    fad_real square = fad_mul(t, x[0], x[0]), deep = fad_exp(t, fad_inv(t, square));
    UNUSED;
    deep = fad_fma(t, fad_add(t, deep, fad_mul(t, deep, x[0])), x[0], fad_sub(t, deep, fad_div(t, 1, x[0])));
    *y = fad_select(t, fad_lt(t, x[0], 0), deep, fad_add(t, x[0], x[0]));
    return 0;
}

/* the same node once taken and once not */
TERM(nested_selects)
{
    fad_real root = fad_sqrt(t, x[0]), s = fad_select(t, fad_lt(t, 1, x[0]), root, fad_mul(t, 3, x[0]));
    UNUSED;
    *y = fad_select(t, fad_not(t, fad_lt(t, 1, x[0])), s, fad_mul(t, root, root));
    return 0;
}

TERM(minus_twice_itself)
{
    UNUSED;
    *y = fad_sub(t, x[0], fad_mul(t, 2, x[0]));
    return 0;
}

TERM(quotient_by_itself)
{
    UNUSED;
    *y = fad_div(t, x[0], x[0]);
    return 0;
}

TERM(chain_of_ties)
{
    UNUSED;
    *y = fad_max(t, fad_mul(t, 4, x[0]), fad_max(t, fad_mul(t, fad_const(2), fad_add(t, x[0], x[0])),
                                                fad_add(t, fad_mul(t, 3, x[0]), x[0])));
    return 0;
}

TERM(cube)
{
    UNUSED;
    *y = fad_pow(t, x[0], 3);
    return 0;
}

TERM(zero_times_root)
{
    UNUSED;
    *y = fad_mul(t, fad_sub(t, x[0], x[0]), fad_sqrt(t, x[0]));
    return 0;
}

TERM(root_of_square)
{
    UNUSED;
    *y = fad_sqrt(t, fad_square(t, fad_sub(t, x[0], 1)));
    return 0;
}

static void single_faults(void **state)
{
    (void)state;
    POINTS(root_or_itself, {-1, -1, 1}, {4, 2, 0.25}, {0, 0, 1}, {-INF, -INF, 1}, {NAN, NAN, 1}, {16, 4, 0.125}, {-4, -4, 1},
           {INF, INF, 0}, {-9, -9, 1});
    POINTS(itself_or_logarithm, {0, 0, 7}, {-2, -14, 7}, {1, 0, 1}, {-0.0, 0, 7}, {-INF, -INF, 7}, {0x1p-4, -0x1.62e42fefa39efp+1, 16});
    POINTS(deep_branch, {0, 0, 2}, {3, 6, 2}, {0x1p-1074, 0x1p-1073, 2}, {-0.0, 0, 2}, {INF, INF, 2});
    POINTS(nested_selects, {0, 0, 3}, {0.5, 1.5, 3}, {4, 4, 1}, {1, 3, 3}, {-1, -3, 3});
    POINTS(minus_twice_itself, {1, -1, -1}, {INF, NAN, -1}, {-3, 3, -1});
    POINTS(quotient_by_itself, {2, 1, 0}, {-8, 1, 0}, {0x1p500, 1, 0});
    POINTS(chain_of_ties, {1, 4, 4}, {-2, -8, 4}, {0, 0, 4});
    POINTS(cube, {-5, -125, 75}, {0, 0, 0}, {2, 8, 12}, {-0.0, 0, 0});
    POINTS(zero_times_root, {4, 0, 0}, {16, 0, 0});
    POINTS(root_of_square, {3, 2, 1}, {0, 1, -1}, {-7, 8, -1});
}

/* 100 x in steps that cancel each other: nothing is reassociated, so what is lost is lost on every path. */
TERM(cancelling_steps)
{
    UNUSED;
    *y = fad_const(0);
    for (int i = 0; i < 100; i++)
        *y = fad_sub(t, fad_add(t, fad_add(t, *y, 1e17), x[0]), 1e17);
    return 0;
}

static void nothing_is_reassociated(void **state)
{
    double lost = 0;
    (void)state;
    for (int i = 0; i < 100; i++) {
        volatile double high = lost + 1e17, sum = high + 0.5;
        lost = sum - 1e17;
    }
    POINTS(cancelling_steps, {0.5, lost, 100}, {0, 0, 100}, {0.5, lost, 100});
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
        cmocka_unit_test(the_elements_own_operands), cmocka_unit_test(shared_parameters_as_operands),
        cmocka_unit_test(adjoints_of_zero_stop),     cmocka_unit_test(single_faults),
        cmocka_unit_test(nothing_is_reassociated),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
