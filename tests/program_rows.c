/* Linear predictors in uniform sums, which programs compute from whole rows: all the ways in which a row may or may not be used
 * otherwise, against the tape. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <foldad/foldad.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 40, EXTRA = 2, N = 259 };

enum use {
    ONE,       /* softplus of theta . x */
    OFFSET,    /* a parameter, then theta . x */
    TWO,       /* two predictors of one row */
    THREE,     /* three: columns are cheaper */
    ALSO,      /* one component is used by itself too */
    BACKWARDS, /* parameters in the opposite order */
    PART,      /* components 1 .. p - 2 only */
    PLAIN,     /* the label times every component and nothing else */
    USES
};

struct problem {
    enum use use;
    size_t p;
};

static fad_real predictor(fad_tape *t, size_t n, const fad_real *theta, const fad_real *x)
{
    return fad_log1pexp(t, fad_dot(t, n, theta, x));
}

static int term(fad_tape *t, size_t k, const fad_real *theta, const fad_real *x, fad_real *y, void *user)
{
    const struct problem *q = user;
    size_t p = q->p;
    fad_real label = x[p], z = fad_const(0);
    (void)k;
    switch (q->use) {
    case OFFSET:
        z = fad_add(t, fad_dot(t, p, theta, x), theta[p]);
        break;
    case TWO:
        z = fad_mul(t, predictor(t, p, theta, x), predictor(t, p, theta + p, x));
        break;
    case THREE:
        z = fad_add(t, fad_mul(t, predictor(t, p, theta, x), predictor(t, p, theta + p, x)), predictor(t, p, theta + 2 * p, x));
        break;
    case ALSO:
        z = fad_mul(t, predictor(t, p, theta, x), x[3]);
        break;
    case BACKWARDS:
        for (size_t j = 0; j < p; j++)
            z = fad_add(t, z, fad_mul(t, theta[p - 1 - j], x[j]));
        break;
    case PART:
        z = predictor(t, p - 2, theta, x + 1);
        break;
    case PLAIN:
        for (size_t j = 0; j < p; j++)
            z = fad_add(t, fad_mul(t, fad_mul(t, theta[j], label), x[j]), z);
        break;
    default:
        z = predictor(t, p, theta, x);
    }
    *y = fad_sub(t, fad_square(t, z), fad_mul(t, label, z));
    return 0;
}

/* What a call gives. */
struct results {
    double value, shared[3 * MOST + EXTRA], x[N * (MOST + EXTRA)], second[3 * MOST + EXTRA];
};

static double number(size_t i)
{
    return (double)(i * UINT64_C(7919) % 1009) / 1009 - 0.45;
}

static void compute(const struct fad_sum *s, const double *direction, bool x, struct results *r)
{
    memset(r, 0, sizeof *r);
    assert_int_equal(fad_sum_gradient(NULL, s, &r->value, r->shared, x ? r->x : NULL), FAD_OK);
    assert_int_equal(fad_sum_hvp(NULL, s, direction, NULL, NULL, r->second), FAD_OK);
}

static void near(const char *what, const struct problem *q, size_t n, const double *a, const double *b, size_t count)
{
    double size = 1;
    for (size_t i = 0; i < count; i++)
        size = fmax(size, fabs(b[i]));
    for (size_t i = 0; i < count; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-12 * size))
            fail_msg("use %d, p = %zu, n = %zu, %s %zu: %.17g, by the tape %.17g", q->use, q->p, n, what, i, a[i], b[i]);
}

static void check(struct problem q, size_t n, bool offsets, bool wants_x)
{
    static double theta[3 * MOST + EXTRA], direction[3 * MOST + EXTRA], x[N * (MOST + EXTRA + 1)];
    static size_t at[N + 1];
    struct results *r = malloc(2 * sizeof *r), *tape = r + 1;
    size_t shared = q.use == TWO ? 2 * q.p : q.use == THREE ? 3 * q.p : q.p + 1, own = q.p + 1;
    struct fad_sum s = {.terms = n, .shared_count = shared, .shared = theta, .x = x, .x_count = own, .term = term, .user = &q,
                        .uniform = true};
    double value;
    assert_non_null(r);
    if (offsets)
        s.x_offsets = at;
    else
        s.x_stride = own + (q.p % 2); /* rows that follow each other, and others */
    for (size_t i = 0; i <= n; i++)
        at[i] = i * own;
    for (size_t i = 0; i < shared; i++) {
        theta[i] = number(i) / sqrt((double)q.p);
        direction[i] = number(i + 500);
    }
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        x[i] = number(3 * i + 1);
    compute(&s, direction, wants_x, r);
    assert_int_equal(fad_sum_value(NULL, &s, &value), FAD_OK);
    assert_memory_equal(&value, &r->value, sizeof value);
    s.uniform = false;
    compute(&s, direction, wants_x, tape);
    near("value", &q, n, &r->value, &tape->value, 1);
    near("gradient", &q, n, r->shared, tape->shared, shared);
    near("gradient of x", &q, n, r->x, tape->x, n * own);
    near("product with the Hessian", &q, n, r->second, tape->second, shared);
    free(r);
}

static void rows_in_all_uses(void **state)
{
    static const size_t sizes[] = {7, 8, 9, 15, 20, 24, 33, MOST}, counts[] = {1, 8, 100, N};
    (void)state;
    for (unsigned use = 0; use < USES; use++)
        for (unsigned p = 0; p < sizeof sizes / sizeof sizes[0]; p++)
            for (unsigned n = 0; n < sizeof counts / sizeof counts[0]; n++)
                for (unsigned kind = 0; kind < 4; kind++)
                    check((struct problem){use, sizes[p]}, counts[n], kind & 1, kind >> 1);
}

/* A row is read as a row: no column of it is left. */
static void long_rows_need_no_columns(void **state)
{
    struct problem q = {ONE, 20};
    double theta[20] = {0}, x[21] = {0};
    char text[4096];
    fad_program *p;
    struct fad_sum s = {.terms = 1, .shared_count = 20, .shared = theta, .x = x, .x_count = 21, .term = term, .user = &q};
    (void)state;
    assert_int_equal(fad_program_create(&p, &s), FAD_OK);
    fad_program_describe(p, text, sizeof text);
    assert_non_null(strstr(text, ", 1 columns in"));
    assert_null(strstr(text, "21 columns in"));
    fad_program_destroy(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_in_all_uses),
        cmocka_unit_test(long_rows_need_no_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
