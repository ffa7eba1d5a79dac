/* Second derivatives: rules of all operations, conventions at kinks and singular points, known Hessians, and that a
 * direction of one level does not reach another one. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/expression.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- One term of the parameters ---- */

static struct fad_sum sum_of(fad_term *term, void *user, const double *shared, size_t count)
{
    struct fad_sum s;
    memset(&s, 0, sizeof s);
    s.terms = 1;
    s.term = term;
    s.user = user;
    s.shared = shared;
    s.shared_count = count;
    return s;
}

/* d2 of the term in one variable, at x. */
static double curvature(fad_term *term, double x)
{
    struct fad_sum s = sum_of(term, NULL, &x, 1);
    double direction = 1, h = -77;
    assert_int_equal(fad_sum_hvp(NULL, &s, &direction, NULL, NULL, &h), 0);
    return h;
}

#define TERM(name, expression)                                                                                \
    static int name(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)     \
    {                                                                                                         \
        (void)k, (void)x, (void)user;                                                                         \
        fad_real v = a[0];                                                                                    \
        *y = expression;                                                                                      \
        return 0;                                                                                             \
    }
TERM(power_two, fad_pow(t, v, 2.0))
TERM(power_one, fad_pow(t, v, 1.0))
TERM(power_zero, fad_pow(t, v, 0.0))
TERM(power_steep, fad_pow(t, v, 1.875))
TERM(squared, fad_square(t, v))
TERM(absolute, fad_abs(t, v))
TERM(tie, fad_max(t, fad_square(t, v), fad_mul(t, 3.0, fad_square(t, v))))
TERM(chosen, fad_select(t, fad_lt(t, v, 0.0), fad_square(t, v), fad_sqrt(t, v)))
TERM(distance, fad_hypot(t, v, fad_mul(t, 2.0, v)))
TERM(stopped, fad_mul(t, fad_mul(t, v, v), fad_sqrt(t, v)))
TERM(zero_times, fad_mul(t, 0.0, fad_sqrt(t, v)))
TERM(exact_fit, fad_mul(t, 0.5, fad_square(t, fad_sub(t, fad_mul(t, v, 3.0), 6.0))))
TERM(exact_product, fad_mul(t, fad_sub(t, fad_mul(t, v, 3.0), 6.0), fad_sub(t, fad_mul(t, v, 3.0), 6.0)))
TERM(residual_in_fma, fad_fma(t, fad_sub(t, v, 2.0), fad_sub(t, v, 2.0), fad_sub(t, v, 2.0)))

static int norm_term(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    (void)k, (void)x, (void)user;
    *y = fad_norm2(t, 1, a);
    return 0;
}

static void conventions(void **state)
{
    (void)state;
    assert_true(curvature(power_two, 0) == 2); /* A10 */
    assert_true(curvature(power_one, 0) == 0);
    assert_true(curvature(power_zero, 0) == 0);
    assert_true(curvature(power_steep, 0) == INFINITY); /* 1.64 x^-0.125 */
    assert_true(curvature(squared, 0) == 2);
    assert_true(curvature(absolute, 0) == 0 && curvature(absolute, -3) == 0);
    assert_true(curvature(tie, 0) == 4); /* half of 2 and half of 6 */
    assert_true(curvature(chosen, -1) == 2); /* nothing from the root of -1 */
    assert_true(curvature(distance, 0) == 0 && curvature(norm_term, 0) == 0);
    assert_true(curvature(stopped, 0) == 0); /* 3.75 sqrt(x) */
    assert_true(curvature(zero_times, 0) == 0);
    /* an adjoint of 0 must not take derivatives with it */
    assert_true(curvature(exact_fit, 2) == 9);
    assert_true(curvature(exact_product, 2) == 18);
    assert_true(curvature(residual_in_fma, 2) == 2);
}

static int soft(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    (void)k, (void)x, (void)user;
    *y = fad_logsumexp(t, 3, a);
    return 0;
}

/* logsumexp: p_i (delta_ij - p_j), and exact where it saturates. */
static void logsumexp_is_exact(void **state)
{
    const double equal[] = {1000, 1000, -INFINITY}, all[] = {-INFINITY, -INFINITY, -INFINITY}, one[] = {3, INFINITY, 2};
    double h[9];
    (void)state;
    struct fad_sum s = sum_of(soft, NULL, equal, 3);
    assert_int_equal(fad_sum_hessian(NULL, &s, NULL, NULL, h), 0);
    const double expected[] = {0.25, -0.25, 0, -0.25, 0.25, 0, 0, 0, 0};
    assert_memory_equal(h, expected, sizeof h);
    for (unsigned i = 0; i < 2; i++) {
        s.shared = i ? one : all;
        assert_int_equal(fad_sum_hessian(NULL, &s, NULL, NULL, h), 0);
        for (unsigned j = 0; j < 9; j++)
            assert_true(h[j] == 0);
    }
}

/* ---- Every operation, against differences of gradients ---- */

struct single {
    struct step step;
};

static int single_term(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    const struct single *s = user;
    (void)k, (void)x;
    fad_real r = expression_step(t, &s->step, a);
    *y = fad_mul(t, r, fad_add(t, r, 0.5)); /* so that linear ones bend, and adjoints move */
    return 0;
}

static void gradient_at(struct fad_sum *s, const double *x, const double *v, double h, double *g)
{
    double at[EXPRESSION_OPERANDS];
    for (size_t j = 0; j < s->shared_count; j++)
        at[j] = x[j] + h * v[j];
    s->shared = at;
    assert_int_equal(fad_sum_gradient(NULL, s, NULL, g, NULL), 0);
    s->shared = x;
}

/* Central differences of fourth order with h = 2^-10: off by about h^4 g''''' / 30 and 2^-52 |g| / h of rounding. The
 * numbers are of the order of the derivatives of functions at (1, 2), or at (-1/2, 1/2) for asin, acos and tan, whose fifth
 * derivatives are below 5000: 1e-12 * 5000 / 30 * size + 1e-12 * size, and ten times that is asked for. */
static void check_product(struct fad_sum *s, const double *x, const double *v, const char *what)
{
    enum { N = EXPRESSION_OPERANDS };
    double h = 0x1p-10, g[4][N], product[N], plain[N], value[2];
    assert_int_equal(fad_sum_hvp(NULL, s, v, value, plain, product), 0);
    static const double at[] = {1, -1, 2, -2};
    for (unsigned i = 0; i < 4; i++)
        gradient_at(s, x, v, at[i] * h, g[i]);
    for (size_t j = 0; j < s->shared_count; j++) {
        double d = (8 * (g[0][j] - g[1][j]) - (g[2][j] - g[3][j])) / (12 * h);
        double size = 1 + fabs(d) + fabs(g[0][j]);
        if (!(fabs(d - product[j]) <= 2e-9 * size))
            fail_msg("%s: component %zu is %.17g, by differences %.17g", what, j, product[j], d);
    }
    gradient_at(s, x, v, 0, g[0]);
    assert_memory_equal(plain, g[0], s->shared_count * sizeof(double));
    assert_int_equal(fad_sum_value(NULL, s, value + 1), 0);
    assert_memory_equal(value, value + 1, sizeof *value);
}

static void every_operation(void **state)
{
    struct dice d = {31};
    (void)state;
    for (unsigned op = OP_ADD; op < OP_COUNT; op++)
        for (unsigned run = 0; run < 10; run++) {
            struct single one;
            double x[EXPRESSION_OPERANDS], v[EXPRESSION_OPERANDS];
            bool unit = op == OP_ASIN || op == OP_ACOS || op == OP_TAN;
            step_random(&one.step, (enum operation)op, &d);
            for (unsigned i = 0; i < EXPRESSION_OPERANDS; i++) {
                x[i] = unit ? dice_between(&d, -0.4, 0.4) : 1.1 + 0.1 * i + dice_between(&d, 0, 0.05);
                v[i] = dice_between(&d, -1, 1);
            }
            struct fad_sum s = sum_of(single_term, &one, x, EXPRESSION_OPERANDS);
            check_product(&s, x, v, operation_name((enum operation)op));
        }
}

/* Second derivatives far out, where formulas that cancel or overflow would show. */
TERM(softplus, fad_log1pexp(t, v))
TERM(tanh_of, fad_tanh(t, v))
TERM(erf_of, fad_erf(t, v))
TERM(lgamma_of, fad_lgamma(t, v))

static void close_to(double a, double b, double units)
{
    if (!(fabs(a - b) <= units * 0x1p-52 * fabs(b)))
        fail_msg("%.17g is not %.17g", a, b);
}

static void far_out(void **state)
{
    (void)state;
    close_to(curvature(softplus, 40), exp(-40.0), 16); /* p (1 - p) */
    close_to(curvature(softplus, -600), exp(-600.0), 16);
    assert_true(curvature(tanh_of, 800) == 0 && curvature(erf_of, 100) == 0);
    close_to(curvature(tanh_of, 20), -8 * exp(-40.0), 16);
    const double pi = 3.14159265358979323846; /* trigamma: pi^2/6 at 1, pi^2/2 at 1/2, -1 added from x + 1 to x */
    close_to(curvature(lgamma_of, 1), pi * pi / 6, 16);
    close_to(curvature(lgamma_of, 0.5), pi * pi / 2, 16);
    close_to(curvature(lgamma_of, -0.5), pi * pi / 2 + 4, 16);
    close_to(curvature(lgamma_of, 1e6), 1e-6 + 5e-13 + 1e-18 / 6, 16);
}

/* ---- Known Hessians ---- */

static int rosenbrock(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    (void)x, (void)user;
    fad_real bend = fad_sub(t, a[k + 1], fad_square(t, a[k]));
    *y = fad_add(t, fad_mul(t, 100.0, fad_square(t, bend)), fad_square(t, fad_sub(t, 1.0, a[k])));
    return 0;
}

/* Rosenbrock in 10 dimensions: A16. Integers, so that everything is exact. */
static void rosenbrock_is_exact(void **state)
{
    enum { N = 10 };
    const double a[N] = {1, -2, 3, 0, 1, 2, -1, 1, 0, 5}, v[N] = {1, 2, -1, 0, 3, -2, 1, 1, 0, -1};
    double expected[N][N], h[N][N], product[N];
    (void)state;
    memset(expected, 0, sizeof expected);
    for (unsigned k = 0; k + 1 < N; k++) {
        expected[k][k] += 1200 * a[k] * a[k] - 400 * a[k + 1] + 2;
        expected[k][k + 1] = expected[k + 1][k] = 0.0 - 400 * a[k]; /* no -0 */
        expected[k + 1][k + 1] += 200;
    }
    struct fad_sum s = sum_of(rosenbrock, NULL, a, N);
    s.terms = N - 1;
    for (unsigned workers = 1; workers <= 4; workers++) {
        assert_int_equal(fad_sum_hessian(pool_with(workers), &s, NULL, NULL, h[0]), 0);
        assert_memory_equal(h, expected, sizeof h);
        assert_int_equal(fad_sum_hvp(pool_with(workers), &s, v, NULL, NULL, product), 0);
        for (unsigned i = 0; i < N; i++) {
            double sum = 0;
            for (unsigned j = 0; j < N; j++)
                sum += expected[i][j] * v[j];
            assert_true(product[i] == sum);
        }
    }
}

/* ---- Levels ---- */

struct level {
    double outer; /* a value of the outer level, as a plain number */
    const fad_real *handle; /* of the outer level */
};

/* x + y as a function of y */
static int inner_sum(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    const struct level *l = user;
    (void)k, (void)x;
    *y = l->handle ? fad_add(t, *l->handle, a[0]) : fad_add(t, l->outer, a[0]);
    return 0;
}

/* x * d/dy (x + y) at y = 1 */
static int outer_product(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    struct level l = {fad_value(t, a[0]), user ? a : NULL};
    double at = 1, one = 1, value, slope, curve;
    struct fad_sum inner = sum_of(inner_sum, &l, &at, 1);
    (void)k, (void)x;
    int rc = fad_sum_jvp(NULL, &inner, &one, NULL, &value, &slope);
    if (!rc)
        rc = fad_sum_hvp(NULL, &inner, &one, NULL, NULL, &curve);
    if (rc)
        return rc;
    *y = fad_mul(t, a[0], slope + curve);
    return 0;
}

/* d/dx (x d/dy (x + y)) is 1; who confuses the two perturbations gets 2. */
static void levels_do_not_meet(void **state)
{
    double x = 5, one = 1, tangent = -1, h = -1;
    int use_handle = 1;
    (void)state;
    struct fad_sum s = sum_of(outer_product, NULL, &x, 1);
    assert_int_equal(fad_sum_jvp(NULL, &s, &one, NULL, NULL, &tangent), 0);
    assert_true(tangent == 1);
    assert_int_equal(fad_sum_hvp(NULL, &s, &one, NULL, &tangent, &h), 0);
    assert_true(tangent == 1 && h == 0);
    /* a variable of the outer level inside the inner one is told, whichever derivatives are computed */
    s.user = &use_handle;
    tangent = h = -1;
    assert_int_equal(fad_sum_jvp(NULL, &s, &one, NULL, NULL, &tangent), FAD_EHANDLE);
    assert_int_equal(fad_sum_hvp(NULL, &s, &one, NULL, NULL, &h), FAD_EHANDLE);
    assert_true(tangent == -1 && h == -1);
}

/* ---- Errors ---- */

static int failing(fad_tape *t, size_t k, const fad_real *a, const fad_real *x, fad_real *y, void *user)
{
    (void)x, (void)user;
    *y = fad_exp(t, a[0]);
    return k >= 11 ? 40 + (int)k : 0;
}

static void errors(void **state)
{
    double a[20] = {0}, g[20], h[400], before[400], v[20] = {1}, value = 3;
    struct fad_failure why;
    struct fad_sum s = sum_of(failing, NULL, a, 20);
    (void)state;
    s.terms = 30;
    s.leaf = s.grain = 1;
    s.failure = &why;
    pattern_fill(h, sizeof h);
    pattern_fill(g, sizeof g);
    memcpy(before, h, sizeof h);
    for (unsigned workers = 1; workers <= 8; workers *= 2) {
        assert_int_equal(fad_sum_hvp(pool_with(workers), &s, v, &value, g, h), 51);
        assert_true(why.index == 11 && why.code == 51);
        assert_int_equal(fad_sum_hessian(pool_with(workers), &s, &value, g, h), 51);
        assert_int_equal(fad_sum_jvp(pool_with(workers), &s, v, NULL, &value, g), 51);
    }
    assert_int_equal(fad_sum_hvp(NULL, &s, NULL, &value, g, h), FAD_EINVAL);
    assert_int_equal(fad_sum_hvp_many(NULL, &s, 0, v, &value, g, h), FAD_EINVAL);
    assert_int_equal(fad_sum_hvp(NULL, NULL, v, &value, g, h), FAD_EINVAL);
    assert_int_equal(fad_sum_hessian(NULL, NULL, &value, g, h), FAD_EINVAL);
    assert_int_equal(fad_sum_jvp(NULL, NULL, v, NULL, &value, g), FAD_EINVAL);
    assert_int_equal(fad_sum_jvp_many(NULL, &s, SIZE_MAX, v, NULL, &value, g), FAD_EOVERFLOW);
    assert_int_equal(fad_sum_jvp_many(NULL, &s, SIZE_MAX / 8, v, NULL, &value, g), FAD_EOVERFLOW);
    assert_true(value == 3 && pattern_intact(g, sizeof g));
    assert_memory_equal(h, before, sizeof h);
    s.shared_count = 0; /* nothing to differentiate */
    s.terms = 0;
    s.failure = NULL;
    assert_int_equal(fad_sum_hessian(NULL, &s, &value, NULL, NULL), 0);
    assert_true(value == 0);
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
        cmocka_unit_test(conventions),
        cmocka_unit_test(logsumexp_is_exact),
        cmocka_unit_test(every_operation),
        cmocka_unit_test(far_out),
        cmocka_unit_test(rosenbrock_is_exact),
        cmocka_unit_test(levels_do_not_meet),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
