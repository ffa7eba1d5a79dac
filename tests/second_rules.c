/* Second derivatives through what is one operation on the tape: rules and sums. Whole numbers, so that the same term recorded operation by
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

/* ---- Sums inside terms ---- */

enum { INNER = 5 };

struct nest {
    int (*fold)(fad_pool *pool, fad_tape *t, const struct fad_sum *s, const fad_real *shared, const fad_real *x, fad_real *y,
                bool each);
    fad_pool *pool;
    unsigned depth;
};

static int by_apply(fad_pool *pool, fad_tape *t, const struct fad_sum *s, const fad_real *shared, const fad_real *x, fad_real *y,
                    bool each)
{
    return (each ? fad_sum_terms_apply : fad_sum_apply)(pool, t, s, shared, x, y);
}

/* One term after the other, on the outer tape itself. */
static int by_one(fad_pool *pool, fad_tape *t, const struct fad_sum *s, const fad_real *shared, const fad_real *x, fad_real *y,
                  bool each)
{
    fad_real own[Y];
    int rc = 0;
    (void)pool;
    for (size_t o = 0; o < Y && !each; o++)
        y[o] = fad_const(0);
    for (size_t k = 0, at = 0; k < s->terms && !rc; k++) {
        rc = s->term(t, k, shared, x + at, own, s->user);
        at += s->x_blocks ? s->x_blocks[k].count : s->x_offsets ? s->x_offsets[k + 1] - s->x_offsets[k] : s->x_count;
        for (size_t o = 0; o < Y; o++)
            y[each ? k * Y + o : o] = each ? own[o] : fad_add(t, y[o], own[o]);
    }
    return rc;
}

static int nested_term(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user);

/* All layouts of x; k decides. */
static int fold_in_term(const struct nest *n, fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, bool each)
{
    static const size_t offsets[INNER + 1] = {0, 2, 4, 6, 8, 10};
    struct fad_block blocks[INNER];
    struct nest next = {n->fold, n->pool, n->depth - 1};
    struct fad_sum inner = {.terms = INNER, .shared_count = 3, .x_count = 2, .y_count = Y, .term = nested_term, .user = &next,
                            .leaf = 2, .grain = 1};
    memset(blocks, 0, sizeof blocks);
    for (size_t i = 0; i < INNER; i++)
        blocks[i].count = 2;
    inner.x_offsets = k % 3 == 1 ? offsets : NULL;
    inner.x_blocks = k % 3 == 2 ? blocks : NULL;
    return n->fold(n->pool, t, &inner, s, x, y, each);
}

/* y0 = s0 x0^2 + s1 s2, y1 = s2 x0 x1: the partial of x0^2 is 0 where x0 is, and its slope is not. */
static int nested_term(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    const struct nest *n = user;
    fad_real square = fad_mul(t, x[0], x[0]), scaled = fad_mul(t, s[0], square), both = fad_mul(t, x[0], x[1]), in[2 * INNER];
    fad_real mixed = fad_mul(t, s[1], s[2]);
    y[0] = fad_add(t, scaled, mixed);
    y[1] = fad_mul(t, s[2], both);
    if (n->depth == 0)
        return 0;
    for (size_t i = 0; i < 2 * INNER; i++)
        in[i] = i % 4 == 3 ? fad_const((double)(i + k) - 3) : i % 4 == 2 ? s[i % 3] : fad_sub(t, x[i % 2], s[(i + k) % 3]);
    fad_real given[3] = {x[1], k % 2 ? s[0] : fad_const(2), y[0]}, sums[Y], each[Y * INNER];
    int rc = fold_in_term(n, t, k, given, in, sums, false);
    rc = rc ? rc : fold_in_term(n, t, k + 1, given, in, each, true);
    fad_real product = fad_mul(t, each[1], each[4]), left = fad_sub(t, sums[0], each[2]);
    y[0] = fad_add(t, y[0], left);
    y[1] = fad_add(t, sums[1], product);
    return rc;
}

/* P parameters, of which the sums inside see three; two of them are results. */
static int outermost(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    fad_real given[3] = {s[k % P], fad_sub(t, s[(k + 1) % P], s[2]), fad_mul(t, s[3], s[(k + 5) % P])};
    fad_real own[2] = {fad_add(t, s[k % 4], x[0].value), s[(k + 2) % P]};
    return nested_term(t, k, given, own, y, user);
}

static void sums_in_terms(void **state)
{
    static struct outcome expected, o;
    (void)state;
    for (unsigned depth = 1; depth < 3; depth++) {
        struct nest flat = {by_one, NULL, depth}, nest = {by_apply, NULL, depth};
        struct fad_sum f = sum_of(outermost, &flat), s = sum_of(outermost, &nest);
        size_t present = 0;
        f.terms = s.terms = 12;
        compute(NULL, &f, &expected);
        for (size_t i = 0; i < Y * P * P; i++) {
            present += expected.hessian[i] != 0;
            assert_true(fabs(expected.hessian[i]) < 0x1p45);
        }
        assert_true(present > 4 * P);
        for (unsigned workers = 0; workers < WORKERS; workers++) {
            nest.pool = pool_at(workers);
            compute(nest.pool, &s, &o);
            assert_true(same_bits(&o, &expected, sizeof o));
        }
    }
}

/* An infinite adjoint does not reach what a sum's derivative is 0 for, as in fad_sum_gradient. */
static int root_of_sum(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    struct nest n = {NULL, NULL, 0};
    struct fad_sum inner = {.terms = 1, .shared_count = 3, .x_count = 2, .y_count = Y, .term = nested_term, .user = &n};
    fad_real in[2] = {s[0], s[1]}, sums[Y];
    (void)k, (void)x, (void)user;
    int rc = fad_sum_apply(NULL, t, &inner, s, in, sums);
    y[0] = fad_sqrt(t, sums[0]);
    y[1] = fad_const(0);
    return rc;
}

static void partials_of_zero(void **state)
{
    double shared[3] = {0, 0, 0}, direction[3] = {0, 1, 0}, value[Y], plain[Y * 3], g[Y * 3], hv[Y * 3];
    struct fad_sum s = {.terms = 1, .shared = shared, .shared_count = 3, .y_count = Y, .term = root_of_sum};
    (void)state;
    assert_int_equal(fad_sum_gradient(NULL, &s, value, plain, NULL), 0);
    assert_int_equal(fad_sum_hvp(NULL, &s, direction, value, g, hv), 0);
    assert_true(same_bits(g, plain, sizeof g) && is_bits(g[0], 0));
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

/* Sums inside: an element of theirs that fails, one with a rule that lacks something, and sums that are rules. */
struct inside {
    int mode, status;
    size_t at;
};

enum { FAILING, LACKING, RULED, FOREIGN };

static int rule_value(const struct fad_element *e, double *y)
{
    *y = e->shared[0] * e->shared[0];
    return 0;
}

static int rule_pullback(const struct fad_element *e, const double *w, double *shared, double *x)
{
    (void)x;
    shared[0] += 2 * w[0] * e->shared[0];
    return 0;
}

static int inner_trouble(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    const struct inside *in = user;
    struct fad_rule rule = cubic_rule;
    fad_real a[3] = {s[0], x[0], s[1]}, b[2];
    if (in->mode == FAILING && k == 2)
        return 17;
    if (in->mode == LACKING && k == 2)
        rule.second = NULL;
    int rc = fad_rule_apply(t, &rule, a, b);
    *y = fad_mul(t, b[0], b[1]);
    return rc;
}

static int outer_trouble(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    static const struct fad_term_rule whole = {.value = rule_value, .pullback = rule_pullback};
    struct inside *in = user, well = {-1, 0, 0};
    bool bad = k == in->at;
    struct fad_sum inner = {.terms = 4, .shared_count = 2, .x_count = 1, .term = inner_trouble, .user = bad ? in : &well, .leaf = 1};
    fad_real own[4] = {s[0], s[1], fad_const(x[0].value), s[2]}, sum = fad_const(7);
    if (bad && in->mode == FOREIGN)
        own[3] = (fad_real){1, 1, ~s[0].stamp};
    if (bad && in->mode == RULED) {
        inner.term = NULL;
        inner.rule = &whole;
    }
    int rc = (k % 2 ? fad_sum_apply : fad_sum_terms_apply)(NULL, t, &inner, s, own, k % 2 ? &sum : own);
    if (bad && rc != in->status)
        return 99;
    *y = fad_square(t, k % 2 ? sum : own[2]);
    return rc;
}

static void errors_of_sums_inside(void **state)
{
    static const struct inside cases[] = {{FAILING, 17, 0}, {LACKING, FAD_EUNSUPPORTED, 0}, {RULED, FAD_EUNSUPPORTED, 0},
                                          {FOREIGN, FAD_EHANDLE, 0}};
    static struct outcome o;
    (void)state;
    for (size_t i = 0; i < 4; i++)
        for (unsigned workers = 0; workers < WORKERS; workers++) {
            struct inside in = cases[i];
            struct fad_failure why = {0, 0, 0, NULL};
            struct fad_sum s = sum_of(outer_trouble, &in);
            s.failure = &why;
            s.y_count = 1;
            in.at = 6 + workers;
            pattern_fill(&o, sizeof o);
            assert_int_equal(fad_sum_hessian(pool_at(workers), &s, o.value, o.gradient, o.hessian), in.status);
            assert_true(why.index == in.at && why.reason && pattern_intact(&o, sizeof o));
            in.at = N;
            assert_int_equal(fad_sum_hessian(pool_at(workers), &s, o.value, o.gradient, o.hessian), 0);
        }
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
        cmocka_unit_test(sums_in_terms),
        cmocka_unit_test(partials_of_zero),
        cmocka_unit_test(against_differences),
        cmocka_unit_test(errors),
        cmocka_unit_test(errors_of_sums_inside),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
