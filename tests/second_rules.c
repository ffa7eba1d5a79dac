/* Second derivatives through what is one operation on the tape: rules. Whole numbers, so that the same term recorded operation by
 * operation gives the same bits. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/ad_support.h"

#include <math.h>
#include <string.h>

enum { WORKERS = 9, N = 40, P = 11, X = 2, Y = 2 };

static fad_pool *pool_at(unsigned workers)
{
    return workers ? pool_with(workers) : NULL;
}

/* ---- A rule: y0 = a^2 b + c^3, y1 = a b c, saved[0] = a b; what each of its functions shall do in element `at` ---- */

enum { WELL, FAILS, FORGETS, RECORDS };

struct habits {
    int value, tangent, pullback, second;
    fad_tape *t;
    bool here; /* this element's */
};

static int behave(const struct habits *h, int how, int code)
{
    if (!h || !h->here)
        return 0;
    if (how == RECORDS)
        fad_alloc(h->t, 1);
    return how == FAILS ? code : 0;
}

static int cubic(const double *x, double *y, double *saved, void *user)
{
    const struct habits *h = user;
    saved[0] = x[0] * x[1];
    y[0] = x[0] * saved[0] + x[2] * x[2] * x[2];
    y[1] = saved[0] * x[2];
    return behave(h, h ? h->value : 0, 11);
}

static int cubic_pullback(const double *x, const double *saved, const double *w, double *g, void *user)
{
    const struct habits *h = user;
    g[0] += w[0] * 2 * saved[0] + w[1] * x[1] * x[2];
    g[1] += w[0] * x[0] * x[0] + w[1] * x[0] * x[2];
    g[2] += w[0] * 3 * x[2] * x[2] + w[1] * saved[0];
    return behave(h, h ? h->pullback : 0, 12);
}

static int cubic_tangent(const double *x, const double *saved, const double *v, double *dy, void *user)
{
    const struct habits *h = user;
    dy[0] = 2 * saved[0] * v[0] + x[0] * x[0] * v[1] + 3 * x[2] * x[2] * v[2];
    if (!h || !h->here || h->tangent != FORGETS)
        dy[1] = x[1] * x[2] * v[0] + x[0] * x[2] * v[1] + saved[0] * v[2];
    return behave(h, h ? h->tangent : 0, 13);
}

static int cubic_second(const double *x, const double *saved, const double *v, const double *w, double *g, void *user)
{
    const struct habits *h = user;
    (void)saved;
    g[0] += w[0] * (2 * x[1] * v[0] + 2 * x[0] * v[1]) + w[1] * (x[2] * v[1] + x[1] * v[2]);
    g[1] += w[0] * 2 * x[0] * v[0] + w[1] * (x[2] * v[0] + x[0] * v[2]);
    g[2] += w[0] * 6 * x[2] * v[2] + w[1] * (x[1] * v[0] + x[0] * v[1]);
    return behave(h, h ? h->second : 0, 14);
}

static const struct fad_rule cubic_rule = {.inputs = 3, .outputs = 2, .saved = 1, .value = cubic, .pullback = cubic_pullback,
                                           .tangent = cubic_tangent, .second = cubic_second};

static int by_rule(fad_tape *t, const fad_real *x, fad_real *y)
{
    return fad_rule_apply(t, &cubic_rule, x, y);
}

static int by_operations(fad_tape *t, const fad_real *x, fad_real *y)
{
    fad_real ab = fad_mul(t, x[0], x[1]), square = fad_mul(t, x[2], x[2]);
    fad_real first = fad_mul(t, x[0], ab), cube = fad_mul(t, square, x[2]);
    y[1] = fad_mul(t, ab, x[2]);
    y[0] = fad_add(t, first, cube);
    return 0;
}

/* ---- Terms ---- */

struct how {
    int (*cubic)(fad_tape *t, const fad_real *x, fad_real *y);
};

/* Several in a row, with constants among the inputs, results that nobody uses, and a residual that is 0 for k = 0: there the
 * adjoints of the rule are 0 and their tangents are not. */
static int chain(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    const struct how *how = user;
    fad_real a[3] = {s[k % P], fad_const(x[0].value), fad_mul(t, s[1], s[(k + 3) % P])}, b[2], c[2], d[2];
    int rc = how->cubic(t, a, b);
    a[0] = fad_sub(t, b[1], s[2]);
    a[1] = s[k % 3];
    a[2] = k % 5 ? fad_const(2) : s[k % P];
    rc = rc ? rc : how->cubic(t, a, c);
    fad_real unused[3] = {c[0], c[1], a[0]};
    rc = rc ? rc : how->cubic(t, unused, d);
    fad_real r = fad_sub(t, c[0], k ? x[1].value : c[0].value), half = fad_mul(t, r, 0.5);
    y[0] = fad_mul(t, half, r);
    y[1] = k % 4 ? fad_add(t, c[1], b[0]) : fad_const(1);
    return rc;
}

struct outcome {
    double value[Y], gradient[Y * P], hessian[Y * P * P], product[Y * P];
};

static struct fad_sum sum_of(fad_term *term, void *user)
{
    static double shared[P], x[N * X];
    for (size_t j = 0; j < P; j++)
        shared[j] = (double)(j % 3) - 1 + (j == 4);
    for (size_t i = 0; i < N * X; i++)
        x[i] = (double)(i % 5) - 2;
    return (struct fad_sum){.terms = N, .shared = shared, .shared_count = P, .x = x, .x_count = X, .y_count = Y, .term = term,
                            .user = user, .leaf = 3, .grain = 1};
}

static void compute(fad_pool *pool, const struct fad_sum *s, struct outcome *o)
{
    static const double direction[P] = {1, -2, 0, 1, 3, 0, 0, -1, 2, 1, 1};
    double value[Y], gradient[Y * P];
    pattern_fill(o, sizeof *o);
    assert_int_equal(fad_sum_hessian(pool, s, o->value, o->gradient, o->hessian), 0);
    assert_int_equal(fad_sum_hvp(pool, s, direction, NULL, NULL, o->product), 0);
    assert_int_equal(fad_sum_gradient(pool, s, value, gradient, NULL), 0);
    assert_true(same_bits(value, o->value, sizeof value) && same_bits(gradient, o->gradient, sizeof gradient));
}

static void rules_in_terms(void **state)
{
    static struct outcome expected, o;
    struct how plain = {by_operations}, ruled = {by_rule};
    struct fad_sum flat = sum_of(chain, &plain), s = sum_of(chain, &ruled);
    size_t present = 0;
    (void)state;
    compute(NULL, &flat, &expected);
    for (size_t i = 0; i < Y * P * P; i++)
        present += expected.hessian[i] != 0;
    assert_true(present > 4 * P);
    for (unsigned workers = 0; workers < WORKERS; workers++) {
        compute(pool_at(workers), &s, &o);
        assert_true(same_bits(&o, &expected, sizeof o));
    }
}

/* Of numbers that are not whole: against differences of gradients. With h = 2^-12 the truncation of a central difference is
 * h^2 / 6 times a fourth derivative, which is below 500 here, and rounding 100 units of gradients below 100 over h: 1e-5. */
static int smooth(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    fad_real a[3] = {fad_sin(t, s[0]), fad_exp(t, s[1]), fad_mul(t, s[2], x[0])}, b[2];
    (void)k, (void)user;
    int rc = by_rule(t, a, b);
    fad_real e = fad_cos(t, b[1]);
    y[0] = fad_mul(t, b[0], e);
    return rc;
}

static void against_differences(void **state)
{
    double shared[3] = {0.3, -0.2, 0.7}, x[2] = {0.5, -1}, moved[3], up[3], down[3], v[3] = {1, 0.5, -2}, value, g[3], hv[3], h = 0x1p-12;
    struct fad_sum s = {.terms = 2, .shared = shared, .shared_count = 3, .x = x, .x_count = 1, .term = smooth};
    (void)state;
    assert_int_equal(fad_sum_hvp(NULL, &s, v, &value, g, hv), 0);
    s.shared = moved;
    for (int side = 1; side >= -1; side -= 2) {
        for (size_t j = 0; j < 3; j++)
            moved[j] = shared[j] + side * h * v[j];
        assert_int_equal(fad_sum_gradient(NULL, &s, &value, side > 0 ? up : down, NULL), 0);
    }
    for (size_t j = 0; j < 3; j++) {
        double difference = (up[j] - down[j]) / (2 * h);
        assert_true(fabs(difference - hv[j]) <= 1e-5 && fabs(hv[j]) > 1e-2);
    }
}

/* ---- Errors ---- */

struct bad {
    struct fad_rule rule;
    struct habits h; /* of element `at` */
    size_t at;
};

static int bad_term(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    const struct bad *b = user;
    struct habits *own = (struct habits *)(void *)fad_alloc(t, 4); /* memory of the recording, which the rule's functions read later */
    struct fad_rule rule = k == b->at ? b->rule : cubic_rule;
    (void)x;
    _Static_assert(sizeof *own <= 4 * sizeof(fad_real), "there is room for it");
    if (!own)
        return FAD_ENOMEM;
    *own = b->h;
    own->t = t;
    own->here = k == b->at;
    rule.user = own;
    fad_real a[3] = {s[0], s[1], s[2]};
    int rc = fad_rule_apply(t, &rule, a, y);
    y[1] = fad_square(t, y[1]);
    return rc;
}

static void fails(struct bad *b, int status, int code, const char *word)
{
    static struct outcome o;
    for (b->at = 0; b->at < N; b->at += 13)
        for (unsigned workers = 0; workers < WORKERS; workers++) {
            struct fad_failure why = {0, 0, 0, NULL};
            struct fad_sum s = sum_of(bad_term, b);
            s.failure = &why;
            pattern_fill(&o, sizeof o);
            int rc = fad_sum_hessian(pool_at(workers), &s, o.value, o.gradient, o.hessian);
            if (rc != status || why.status != status || why.index != b->at || why.code != code || !why.reason)
                fail_msg("%d at %zu, code %d", rc, why.index, why.code);
            assert_true(pattern_intact(&o, sizeof o) && (!word || strstr(why.reason, word)));
        }
}

static void errors(void **state)
{
    static struct outcome o;
    struct bad b = {.rule = cubic_rule};
    (void)state;
    b.rule.second = NULL;
    fails(&b, FAD_EUNSUPPORTED, 0, "second");
    b.rule = cubic_rule;
    b.rule.tangent = NULL;
    fails(&b, FAD_EUNSUPPORTED, 0, "tangent");
    b.rule = cubic_rule;
    b.h = (struct habits){.value = FAILS};
    fails(&b, 11, 11, NULL);
    b.h = (struct habits){.pullback = FAILS};
    fails(&b, 12, 12, NULL);
    b.h = (struct habits){.tangent = FAILS};
    fails(&b, 13, 13, NULL);
    b.h = (struct habits){.second = FAILS};
    fails(&b, 14, 14, NULL);
    b.h = (struct habits){.tangent = FORGETS};
    struct fad_sum s = sum_of(bad_term, &b);
    b.at = 3;
    assert_int_equal(fad_sum_hessian(NULL, &s, o.value, o.gradient, o.hessian), 0);
    assert_true(isnan(o.hessian[P * P]) && !isnan(o.hessian[0]));
    b.h = (struct habits){.value = RECORDS};
    fails(&b, FAD_EHANDLE, FAD_EHANDLE, NULL); /* which the term returns */
    b.h = (struct habits){.tangent = RECORDS};
    fails(&b, FAD_EHANDLE, FAD_EHANDLE, NULL);
    b.h = (struct habits){.second = RECORDS};
    fails(&b, FAD_EHANDLE, 0, NULL);
    b.h = (struct habits){.value = WELL};
    compute(NULL, &s, &o); /* nothing stays behind */
    b.rule.reserved[0] = 1;
    fails(&b, FAD_EINVAL, FAD_EINVAL, NULL);
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
        cmocka_unit_test(rules_in_terms),
        cmocka_unit_test(against_differences),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
