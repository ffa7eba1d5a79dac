/* Rules: as an operation on a tape and as a whole term, against the same functions recorded. Whole numbers, so exact. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ad/tape.h"

static const unsigned worker_counts[] = {0, 1, 2, 3, 4, 8, 16};
#define COUNTS (sizeof worker_counts / sizeof *worker_counts)

static fad_pool *pool_at(size_t i)
{
    return worker_counts[i] ? pool_with(worker_counts[i]) : NULL;
}

/* ---- An operation: y[o] = (o + 1) p^2 + x[o], p = sum of (i + 1) x[i] ---- */

enum { IN = 5, OUT = 3 };

/* What a rule's functions do besides, and how often they were called. */
struct habits {
    int value_code, pullback_code;
    fad_tape *uses;      /* record on this tape */
    unsigned values, pullbacks;
};

static double weighted(const double *x)
{
    double p = 0;
    for (size_t i = 0; i < IN; i++)
        p += (double)(i + 1) * x[i];
    return p;
}

static int poly(const double *x, double *y, double *saved, void *user)
{
    struct habits *h = user;
    h->values++;
    if (h->uses)
        fad_input(h->uses, 1);
    saved[0] = weighted(x);
    for (size_t o = 0; o < OUT; o++)
        y[o] = (double)(o + 1) * saved[0] * saved[0] + x[o];
    return h->value_code;
}

static int poly_pullback(const double *x, const double *saved, const double *w, double *g, void *user)
{
    struct habits *h = user;
    double d = 0;
    (void)x;
    h->pullbacks++;
    if (h->uses)
        fad_input(h->uses, 1);
    for (size_t o = 0; o < OUT; o++) {
        d += w[o] * 2 * (double)(o + 1) * saved[0];
        g[o] += w[o];
    }
    for (size_t i = 0; i < IN; i++)
        g[i] += d * (double)(i + 1);
    return h->pullback_code;
}

static int poly_tangent(const double *x, const double *saved, const double *dx, double *dy, void *user)
{
    (void)x, (void)user;
    for (size_t o = 0; o < OUT; o++)
        dy[o] = 2 * (double)(o + 1) * saved[0] * weighted(dx) + dx[o];
    return 0;
}

static struct fad_rule poly_rule(struct habits *h)
{
    return (struct fad_rule){.inputs = IN, .outputs = OUT, .saved = 1, .value = poly, .pullback = poly_pullback,
                             .tangent = poly_tangent, .user = h};
}

static void poly_recorded(fad_tape *t, const fad_real *x, fad_real *y)
{
    fad_real p = fad_const(0), out[OUT];
    for (size_t i = 0; i < IN; i++)
        p = fad_add(t, p, fad_mul(t, (double)(i + 1), x[i]));
    for (size_t o = 0; o < OUT; o++)
        out[o] = fad_add(t, fad_mul(t, (double)(o + 1), fad_square(t, p)), x[o]);
    memcpy(y, out, sizeof out);
}

/* A chain of calls in which each one's operands are results, inputs and constants of before; then some of the results. */
static fad_real chain(fad_tape *t, uint64_t seed, const fad_real *in, const struct fad_rule *r)
{
    struct dice d = {seed};
    fad_real v[IN + 3 * OUT], z = fad_const(0);
    memcpy(v, in, IN * sizeof *v);
    for (size_t n = IN; n < IN + 3 * OUT; n += OUT) {
        fad_real x[IN];
        for (size_t i = 0; i < IN; i++)
            x[i] = dice_below(&d, 4) ? v[n - 1 - dice_below(&d, n < 7 ? n : 7)] : fad_const((double)dice_below(&d, 3));
        if (r) {
            memcpy(v + n, x, OUT * sizeof *v); /* y may be x */
            assert_int_equal(fad_rule_apply(t, r, x, v + n), 0);
        } else {
            poly_recorded(t, x, v + n);
        }
        for (size_t o = 0; o < OUT; o++) { /* small enough to stay exact */
            fad_real scaled = fad_mul(t, v[n + o], fabs(v[n + o].value) > 8 ? 0 : 1);
            z = dice_below(&d, 2) ? fad_add(t, z, fad_mul(t, (double)dice_below(&d, 4), v[n + o])) : z;
            v[n + o] = fad_add(t, scaled, v[dice_below(&d, IN)]);
        }
    }
    return z;
}

/* Values, derivatives, sweeps from the middle and again; a rule's constants are constants. */
static void operations(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct habits h = {0, 0, NULL, 0, 0};
        struct fad_rule r = poly_rule(&h);
        fad_tape *t[2] = {fad_tape_create(), fad_tape_create()};
        double g[2][IN], again[IN], v[2];
        fad_real x[2][IN], z[2];
        assert_int_equal(fad_tape_trace(t[0], seed % 2), 0);
        for (unsigned which = 0; which < 2; which++) {
            for (size_t i = 0; i < IN; i++)
                x[which][i] = i % 4 == 3 ? fad_const(1) : fad_input(t[which], (double)(mix(seed, i) % 3) - 1);
            z[which] = chain(t[which], seed, x[which], which ? NULL : &r);
            v[which] = fad_value(t[which], z[which]);
            assert_int_equal(fad_tape_reverse(t[which], z[which], 1, IN, x[which], g[which]), 0);
        }
        assert_true(v[0] == v[1] && same_bits(g[0], g[1], sizeof g[0]));
        unsigned once = h.pullbacks;
        assert_true(h.values == 3 && once <= 3);
        fad_real more = fad_square(t[0], z[0]);
        assert_int_equal(fad_tape_reverse(t[0], more, 1, 1, x[0], again), 0);
        assert_int_equal(fad_tape_reverse(t[0], z[0], 1, IN, x[0], again), 0);
        assert_true(same_bits(g[0], again, sizeof again) && h.values == 3);
        fad_tape_destroy(t[0]);
        fad_tape_destroy(t[1]);
    }
}

/* The pullback runs when some adjoint is not 0, and only then, whichever of the results it is; adjoints of results can be
 * asked for. */
static void which_results_are_used(void **state)
{
    struct habits h = {0, 0, NULL, 0, 0};
    struct fad_rule r = poly_rule(&h);
    fad_tape *t = fad_tape_create();
    (void)state;
    fad_real x[IN], y[OUT];
    for (size_t i = 0; i < IN; i++)
        x[i] = fad_input(t, 1);
    assert_int_equal(fad_rule_apply(t, &r, x, y), 0);
    for (size_t o = 0; o < OUT; o++) {
        double g[IN + OUT];
        fad_real ask[IN + OUT];
        memcpy(ask, x, sizeof x);
        memcpy(ask + IN, y, sizeof y);
        h.pullbacks = 0;
        assert_int_equal(fad_tape_reverse(t, y[o], 1, IN + OUT, ask, g), 0);
        assert_int_equal(h.pullbacks, 1);
        for (size_t i = 0; i < IN; i++)
            assert_true(g[i] == 30 * (double)((o + 1) * (i + 1)) + (i == o));
        for (size_t p = 0; p < OUT; p++)
            assert_true(g[IN + p] == (p == o));
    }
    double g;
    h.pullbacks = 0;
    fad_real none = fad_mul(t, 0, y[1]), after = fad_add(t, none, fad_mul(t, 3, x[0]));
    assert_int_equal(fad_tape_reverse(t, after, 1, 1, x, &g), 0);
    assert_true(g == 3 && h.pullbacks == 0);
    assert_int_equal(fad_tape_reverse(t, y[0], 0, 1, x, &g), 0);
    assert_true(is_bits(g, 0) && h.pullbacks == 0);
    /* constants: the value alone, and nothing is recorded */
    uint64_t digest = fad_tape_digest(t);
    for (size_t i = 0; i < IN; i++)
        x[i] = fad_const(1);
    assert_int_equal(fad_rule_apply(t, &r, x, y), 0);
    assert_true(y[2].value == 676 && y[2].stamp == 0 && fad_tape_digest(t) == digest);
    fad_tape_destroy(t);
}

static int forgets(const double *x, double *y, double *saved, void *user)
{
    (void)x, (void)y, (void)saved, (void)user;
    return 0;
}

/* Refusals leave y and the tape as they were. */
static void errors_of_operations(void **state)
{
    struct habits h = {0, 0, NULL, 0, 0};
    struct fad_rule good = poly_rule(&h), r;
    fad_tape *t = fad_tape_create(), *other = fad_tape_create();
    fad_real x[IN], y[OUT];
    double g[IN];
    (void)state;
    fad_real old = fad_input(t, 1);
    fad_tape_rewind(t, NULL);
    for (size_t i = 0; i < IN; i++)
        x[i] = fad_input(t, 1);
    pattern_fill(y, sizeof y);
    uint64_t digest = fad_tape_digest(t);
#define REFUSED(status, tape, change)                                                            \
    do {                                                                                         \
        r = good;                                                                                \
        change;                                                                                  \
        assert_int_equal(fad_rule_apply(tape, &r, x, y), status);                                \
        assert_true(pattern_intact(y, sizeof y) && fad_tape_digest(t) == digest && !fad_tape_error(t)); \
    } while (0)
    REFUSED(FAD_EINVAL, NULL, (void)0);
    REFUSED(FAD_EINVAL, t, r.value = NULL);
    REFUSED(FAD_EINVAL, t, r.pullback = NULL);
    REFUSED(FAD_EINVAL, t, r.reserved[2] = 1);
    REFUSED(FAD_EOVERFLOW, t, r.saved = SIZE_MAX / 2);
    REFUSED(FAD_EOVERFLOW, t, r.saved = UINT32_MAX);
    REFUSED(FAD_EHANDLE, other, (void)0);
    REFUSED(7, t, h.value_code = 7);
    h.value_code = 0;
    REFUSED(FAD_EHANDLE, t, h.uses = t);
    h.uses = NULL;
    assert_int_equal(fad_rule_apply(t, NULL, x, y), FAD_EINVAL);
    assert_int_equal(fad_rule_apply(t, &good, NULL, y), FAD_EINVAL);
    assert_int_equal(fad_rule_apply(t, &good, x, NULL), FAD_EINVAL);
    fad_real foreign[2] = {old, fad_input(other, 1)};
    for (size_t i = 0; i < 2 * IN; i++) {
        fad_real keep = x[i / 2];
        x[i / 2] = foreign[i % 2];
        REFUSED(FAD_EHANDLE, t, (void)0);
        x[i / 2] = keep;
    }
    /* sweeps: the pullback's code, untouched outputs, and zeros left behind */
    assert_int_equal(fad_rule_apply(t, &good, x, y), 0);
    fad_real twice[OUT], z;
    fad_real mixed[IN] = {y[0], y[2], x[0], fad_const(1), y[1]};
    assert_int_equal(fad_rule_apply(t, &good, mixed, twice), 0);
    z = fad_add(t, twice[2], y[1]);
    for (unsigned i = 0; i < 2; i++) {
        h.pullback_code = i ? 0 : 9;
        h.uses = i ? t : NULL;
        pattern_fill(g, sizeof g);
        assert_int_equal(fad_tape_reverse(t, z, 1, IN, x, g), i ? FAD_EHANDLE : 9);
        assert_true(pattern_intact(g, sizeof g) && fad_tape_error(t) == 0);
        h.pullback_code = 0;
        h.uses = NULL;
        assert_int_equal(fad_tape_reverse(t, x[2], 1, IN, x, g), 0);
        assert_true(g[0] == 0 && g[2] == 1 && g[4] == 0);
    }
    assert_int_equal(fad_tape_reverse(t, z, 1, IN, x, g), 0);
    /* no value is no number; and the tape's error is the operation's */
    good.value = forgets;
    assert_int_equal(fad_rule_apply(t, &good, x, y), 0);
    assert_true(isnan(y[0].value) && y[0].stamp && isnan(y[OUT - 1].value));
    fad_fail(t, 5);
    assert_int_equal(fad_rule_apply(t, &good, x, y), 5);
    fad_tape_destroy(t);
    fad_tape_destroy(other);
}

static int tangent_forgets(const double *x, const double *saved, const double *dx, double *dy, void *user)
{
    (void)x, (void)saved, (void)user;
    dy[0] = dx[0];
    return 0;
}

/* What a tangent does not write is a NaN, in every direction, and not what was in memory. */
static void forgotten_results(void **state)
{
    enum { D = 3 };
    struct habits h = {0, 0, NULL, 0, 0};
    struct fad_rule r = poly_rule(&h);
    fad_tape *t = fad_tape_create();
    fad_real x[IN], y[OUT];
    double seeds[D * IN], d[D];
    (void)state;
    r.tangent = tangent_forgets;
    for (size_t i = 0; i < IN; i++)
        x[i] = fad_input(t, 1);
    for (size_t i = 0; i < D * IN; i++)
        seeds[i] = (double)(i + 1);
    assert_int_equal(fad_rule_apply(t, &r, x, y), 0);
    for (size_t o = 0; o < OUT; o++) {
        assert_int_equal(fad_tape_forward(t, y[o], D, IN, x, seeds, d), 0);
        for (size_t i = 0; i < D; i++)
            assert_true(o ? isnan(d[i]) : d[i] == seeds[i * IN]);
    }
    fad_tape_destroy(t);
}

static fad_real no_op(fad_tape *t, unsigned op, double v, const fad_real *operands)
{
    (void)t, (void)op, (void)operands;
    return fad_const(v);
}

/* A recorder has no place for a rule: the recording fails as a whole; constants are constants there too. */
static void recorders(void **state)
{
    static const struct fadi_recorder recorder = {.op = no_op};
    struct habits h = {0, 0, NULL, 0, 0};
    struct fad_rule r = poly_rule(&h);
    fad_tape *t = fad_tape_create();
    fad_real x[IN], y[OUT];
    (void)state;
    for (size_t i = 0; i < IN; i++)
        x[i] = fad_const(1);
    fad_real v = fad_input(t, 1);
    fadi_tape_set_recorder(fadi_tape_of(t), &recorder, NULL);
    assert_int_equal(fad_rule_apply(t, &r, x, y), 0);
    assert_true(y[0].value == 226);
    x[4] = v;
    assert_int_equal(fad_rule_apply(t, &r, x, y), FAD_EUNSUPPORTED);
    assert_int_equal(fad_tape_error(t), FAD_EUNSUPPORTED);
    fad_tape_destroy(t);
}

/* ---- Inside terms ---- */

struct inside {
    bool ruled;
    size_t bad_value, bad_pullback; /* elements; those of a bad pullback have a bad tangent too */
    bool no_tangent;                /* or none */
};

static int fails_later(const double *x, const double *saved, const double *w, double *g, void *user)
{
    (void)x, (void)saved, (void)w, (void)g, (void)user;
    return 12;
}

static int tangent_fails(const double *x, const double *saved, const double *dx, double *dy, void *user)
{
    (void)x, (void)saved, (void)dx, (void)dy, (void)user;
    return 13;
}

static int term_with_rule(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    const struct inside *in = user;
    static _Thread_local struct habits mine; /* the pullback runs on the same thread */
    struct fad_rule r = poly_rule(&mine);
    fad_real a[IN] = {s[0], x[0], fad_const(1), s[k % 3], x[1]}, p[OUT];
    if (in->ruled) {
        mine = (struct habits){k == in->bad_value ? 11 : 0, 0, NULL, 0, 0};
        if (k == in->bad_pullback) {
            r.pullback = fails_later;
            r.tangent = in->no_tangent ? NULL : tangent_fails;
        }
        int rc = fad_rule_apply(t, &r, a, p);
        if (rc)
            return rc;
    } else {
        poly_recorded(t, a, p);
    }
    y[0] = fad_add(t, p[1], fad_mul(t, x[0], p[2]));
    y[1] = fad_mul(t, s[1], p[0]);
    return 0;
}

/* Fails everywhere else, so that there are no finite differences. */
static int only_here(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    int rc = term_with_rule(t, k, s, x, y, user);
    return s[0].value == 1 && s[1].value == -2 && s[2].value == 3 ? rc : 6;
}

/* Operations inside the terms of sums, and which failure of several is told. */
static void rules_in_terms(void **state)
{
    enum { N = 40, P = 3, X = 2, Y = 2 };
    struct {
        double value[Y], shared[Y * P], x[Y * N * X];
    } o, expected;
    double shared[P] = {1, -2, 3}, x[N * X];
    struct inside in = {false, SIZE_MAX, SIZE_MAX, false};
    struct fad_failure why;
    struct fad_sum s = {.terms = N, .shared = shared, .shared_count = P, .x = x, .x_count = X, .y_count = Y, .leaf = 3,
                        .grain = 1, .term = term_with_rule, .user = &in, .failure = &why};
    (void)state;
    for (size_t i = 0; i < N * X; i++)
        x[i] = (double)(i % 7) - 3;
    assert_int_equal(fad_sum_gradient(NULL, &s, expected.value, expected.shared, expected.x), 0);
    for (unsigned run = 0; run < 4 * COUNTS; run++) {
        fad_pool *pool = pool_at(run % COUNTS);
        size_t bad = run * 5 % N;
        in = (struct inside){true, run % 2 ? bad : N - 1, run % 2 ? N - 1 : bad, false};
        pattern_fill(&o, sizeof o);
        int rc = fad_sum_gradient(pool, &s, o.value, o.shared, o.x), code = run % 2 ? 11 : 12;
        assert_true(rc == code && why.status == code && why.code == code && why.index == bad);
        assert_true(pattern_intact(&o, sizeof o));
        in = (struct inside){true, SIZE_MAX, SIZE_MAX, false};
        assert_int_equal(fad_sum_gradient(pool, &s, o.value, o.shared, o.x), 0);
        assert_true(same_bits(&o, &expected, sizeof o));
    }
    struct fad_check worst;
    assert_int_equal(fad_sum_check(NULL, &s, &worst), 0);
    assert_true(worst.forward && worst.excess <= 1);
    s.term = only_here; /* the bound of forward mode knows of what goes through the rule */
    assert_int_equal(fad_sum_check(NULL, &s, &worst), 0);
    assert_string_equal(worst.against, "forward mode");
    assert_true(worst.excess == 0 && worst.gradient != 0 && worst.bound >= (double)UNIT * fabs(worst.gradient));
}

/* The same for tangents. */
static void tangents_of_rules_in_terms(void **state)
{
    enum { N = 40, P = 3, X = 2, Y = 2, D = 18 };
    struct {
        double value[Y], tangents[D * Y];
    } o, expected;
    double shared[P] = {1, -2, 3}, x[N * X], ds[D * P], dx[D * N * X];
    struct inside in = {false, SIZE_MAX, SIZE_MAX, false};
    struct fad_failure why;
    struct fad_sum s = {.terms = N, .shared = shared, .shared_count = P, .x = x, .x_count = X, .y_count = Y, .leaf = 3,
                        .grain = 1, .term = term_with_rule, .user = &in, .failure = &why};
    (void)state;
    for (size_t i = 0; i < N * X; i++)
        x[i] = (double)(i % 7) - 3;
    for (size_t i = 0; i < D * P; i++)
        ds[i] = (double)(mix(1, i) % 5) - 2;
    for (size_t i = 0; i < D * N * X; i++)
        dx[i] = (double)(mix(2, i) % 5) - 2;
    assert_int_equal(fad_sum_jvp_many(NULL, &s, D, ds, dx, expected.value, expected.tangents), 0);
    assert_true(expected.tangents[0] != 0 && expected.tangents[1] != 0);
    for (unsigned run = 0; run < 4 * COUNTS; run++) {
        fad_pool *pool = pool_at(run % COUNTS);
        size_t bad = run * 5 % N;
        in = (struct inside){true, N - 1, bad, run % 2};
        pattern_fill(&o, sizeof o);
        int rc = fad_sum_jvp_many(pool, &s, D, ds, dx, o.value, o.tangents), code = run % 2 ? FAD_EUNSUPPORTED : 13;
        assert_true(rc == code && why.status == code && why.code == (run % 2 ? 0 : 13) && why.index == bad);
        assert_true(pattern_intact(&o, sizeof o));
        in = (struct inside){true, SIZE_MAX, SIZE_MAX, false};
        assert_int_equal(fad_sum_jvp_many(pool, &s, D, ds, dx, o.value, o.tangents), 0);
        assert_true(same_bits(&o, &expected, sizeof o));
        assert_int_equal(fad_sum_jvp(pool, &s, ds + P, dx + N * X, o.value, o.tangents), 0);
        assert_true(same_bits(o.value, expected.value, sizeof o.value) &&
                    same_bits(o.tangents, expected.tangents + Y, Y * sizeof(double)));
    }
}

/* ---- Whole terms ---- */

struct results {
    double value[SHAPE_Y], shared[SHAPE_Y * SHAPE_P], x[SHAPE_Y * SHAPE_N * (SHAPE_X + 1) + SHAPE_Y * SHAPE_X];
    double values[SHAPE_N * SHAPE_Y], gradients[SHAPE_N * SHAPE_Y * SHAPE_P];
    double blocks[SHAPE_Y * SHAPE_N * SHAPE_X], alone[SHAPE_Y];
    double x_only[SHAPE_Y * SHAPE_N * (SHAPE_X + 1) + SHAPE_Y * SHAPE_X], shared_only[SHAPE_Y * SHAPE_P];
};

static void compute(struct shape *c, const struct fad_sum *s, fad_pool *pool, struct results *r)
{
    double *x = s->x_blocks ? NULL : r->x;
    pattern_fill(r, sizeof *r);
    pattern_fill(c->block_gradient, sizeof c->block_gradient);
    assert_int_equal(fad_sum_gradient(pool, s, NULL, NULL, s->x_blocks ? NULL : r->x_only), 0);
    assert_int_equal(fad_sum_gradient(pool, s, NULL, r->shared_only, NULL), 0);
    assert_int_equal(fad_sum_gradient(pool, s, r->value, r->shared, x), 0);
    memcpy(r->blocks, c->block_gradient, sizeof r->blocks);
    assert_int_equal(fad_sum_value(pool, s, r->alone), 0);
    assert_int_equal(fad_sum_terms(pool, s, r->values, r->gradients), 0);
    assert_true(same_bits(r->alone, r->value, sizeof r->alone) && same_bits(r->x, r->x_only, sizeof r->x) &&
                same_bits(r->shared, r->shared_only, sizeof r->shared));
}

/* A rule term and the same one recorded: values, gradients, terms, bit by bit, for all shapes and numbers of workers. */
static void whole_terms(void **state)
{
    static struct shape c;
    static struct results recorded, ruled;
    (void)state;
    for (uint64_t seed = 1; seed <= 250; seed++) {
        shape_make(&c, seed, false);
        struct fad_sum s = shape_ruled(&c, seed % 2);
        compute(&c, &c.s, NULL, &recorded);
        c.runs = c.pullbacks = 0;
        compute(&c, &s, pool_at(seed % COUNTS), &ruled);
        if (!same_bits(&recorded, &ruled, sizeof ruled))
            fail_msg("shape %llu", (unsigned long long)seed);
        assert_true(c.runs == 5 * c.n && c.pullbacks == 4 * c.n * c.y_count);
    }
}

enum { DIRECTIONS = 18 }; /* more than share a fold */

struct tangents {
    double shared[DIRECTIONS * SHAPE_P], x[DIRECTIONS * SHAPE_N * (SHAPE_X + 1) + SHAPE_X];
    size_t apart; /* directions in x */
};

/* Small whole numbers, and NaN where nobody may look. */
static void choose_tangents(const struct shape *c, uint64_t seed, struct tangents *t)
{
    size_t P = c->s.shared_count, stride = c->s.x_stride ? c->s.x_stride : c->s.x_count, count;
    t->apart = c->s.x_offsets || c->s.x_blocks ? c->x_size : SHAPE_N * stride;
    for (size_t i = 0; i < DIRECTIONS * P; i++)
        t->shared[i] = c->s.shared_fixed && c->shared_fixed[i % P] ? (double)NAN : (double)(mix(seed, i) % 5) - 2;
    for (size_t i = 0; i < sizeof t->x / sizeof *t->x; i++)
        t->x[i] = (double)(mix(seed + 1, i) % 5) - 2;
    if (!c->s.x_fixed || (c->s.x_stride && c->s.x_stride < c->s.x_count))
        return;
    for (size_t d = 0; d < DIRECTIONS; d++)
        for (size_t k = 0; k < SHAPE_N; k++) {
            double *x = t->x + d * t->apart + shape_place(c, k, &count);
            for (size_t j = 0; j < count; j++)
                x[j] = c->x_fixed[j] ? (double)NAN : x[j];
        }
}

struct directed {
    double value[SHAPE_Y], tangents[DIRECTIONS * SHAPE_Y], by_shared[DIRECTIONS * SHAPE_Y], by_x[DIRECTIONS * SHAPE_Y];
    double last[SHAPE_Y], none[SHAPE_Y];
};

static void push_tangents(const struct fad_sum *s, fad_pool *pool, const struct tangents *t, struct directed *r)
{
    size_t last = DIRECTIONS - 1, P = s->shared_count, Y = s->y_count ? s->y_count : 1;
    double value[SHAPE_Y];
    pattern_fill(r, sizeof *r);
    assert_int_equal(fad_sum_jvp_many(pool, s, DIRECTIONS, t->shared, t->x, r->value, r->tangents), 0);
    assert_int_equal(fad_sum_jvp_many(pool, s, DIRECTIONS, t->shared, NULL, NULL, r->by_shared), 0);
    assert_int_equal(fad_sum_jvp_many(pool, s, DIRECTIONS, NULL, t->x, NULL, r->by_x), 0);
    assert_int_equal(fad_sum_jvp(pool, s, t->shared + last * P, t->x + last * t->apart, NULL, r->last), 0);
    assert_int_equal(fad_sum_jvp(pool, s, NULL, NULL, NULL, r->none), 0);
    assert_int_equal(fad_sum_value(pool, s, value), 0);
    assert_true(same_bits(r->last, r->tangents + last * Y, Y * sizeof(double)));
    assert_true(same_bits(r->value, value, Y * sizeof(double)) && is_bits(r->none[Y - 1], 0));
}

/* Tangents of a rule term and of the same one recorded, bit by bit, for all shapes and numbers of workers. */
static void tangents_of_whole_terms(void **state)
{
    static struct shape c;
    static struct tangents t;
    static struct directed recorded, ruled;
    static double before[SHAPE_Y * SHAPE_P], after[SHAPE_Y * SHAPE_P];
    (void)state;
    for (uint64_t seed = 1; seed <= 250; seed++) {
        shape_make(&c, seed, true);
        choose_tangents(&c, seed, &t);
        struct fad_sum s = shape_ruled(&c, seed % 2);
        assert_int_equal(fad_sum_gradient(NULL, &c.s, NULL, before, NULL), 0);
        push_tangents(&c.s, NULL, &t, &recorded);
        c.runs = c.tangents = 0;
        push_tangents(&s, pool_at(seed % COUNTS), &t, &ruled);
        if (!same_bits(&recorded, &ruled, sizeof ruled))
            fail_msg("shape %llu", (unsigned long long)seed);
        assert_true(c.runs == 9 * c.n && c.tangents == (3 * DIRECTIONS + 1) * c.n);
        /* nothing is left in the rows that tapes have for adjoints */
        push_tangents(&s, NULL, &t, &ruled);
        assert_int_equal(fad_sum_gradient(NULL, &c.s, NULL, after, NULL), 0);
        assert_true(same_bits(before, after, c.y_count * c.s.shared_count * sizeof(double)));
    }
}

struct products {
    double value[SHAPE_Y], shared[SHAPE_Y * SHAPE_P], products[DIRECTIONS * SHAPE_Y * SHAPE_P], last[SHAPE_Y * SHAPE_P];
    double hessian[SHAPE_Y * SHAPE_P * SHAPE_P];
};

static void multiply(const struct fad_sum *s, fad_pool *pool, const struct tangents *t, struct products *r)
{
    size_t last = DIRECTIONS - 1, P = s->shared_count, Y = s->y_count ? s->y_count : 1;
    pattern_fill(r, sizeof *r);
    assert_int_equal(fad_sum_hvp_many(pool, s, DIRECTIONS, t->shared, r->value, r->shared, r->products), 0);
    assert_int_equal(fad_sum_hvp(pool, s, t->shared + last * P, NULL, NULL, r->last), 0);
    assert_int_equal(fad_sum_hessian(pool, s, NULL, NULL, r->hessian), 0);
    assert_true(same_bits(r->last, r->products + last * Y * P, Y * P * sizeof(double)));
}

/* Products with the Hessian of a rule term and of the same one recorded, bit by bit. */
static void products_of_whole_terms(void **state)
{
    static struct shape c;
    static struct tangents t;
    static struct products recorded, ruled;
    struct fad_failure why;
    (void)state;
    for (uint64_t seed = 1; seed <= 250; seed++) {
        shape_make(&c, seed, true);
        choose_tangents(&c, seed, &t);
        struct fad_sum s = shape_ruled(&c, seed % 2);
        multiply(&c.s, NULL, &t, &recorded);
        multiply(&s, pool_at(seed % COUNTS), &t, &ruled);
        if (!same_bits(&recorded, &ruled, sizeof ruled))
            fail_msg("shape %llu", (unsigned long long)seed);
    }
    struct fad_sum s = shape_ruled(&c, false);
    struct fad_term_rule without = *s.rule;
    without.second = NULL;
    s.rule = &without;
    s.failure = &why;
    assert_int_equal(fad_sum_hvp(NULL, &s, t.shared, NULL, NULL, ruled.last), FAD_EUNSUPPORTED);
    assert_string_equal(why.reason, "the rule's second is NULL");
}

struct failing {
    size_t value, pullback; /* elements from which on they do */
};

static int bad_value(const struct fad_element *e, double *y)
{
    const struct failing *f = e->user;
    *y = 1;
    return e->k >= f->value ? 21 : 0;
}

static int bad_pullback(const struct fad_element *e, const double *w, double *shared, double *x)
{
    const struct failing *f = e->user;
    (void)w, (void)x;
    shared[0] += 1;
    return e->k >= f->pullback ? 22 : 0;
}

static int bad_tangent(const struct fad_element *e, const double *shared, const double *x, double *y)
{
    const struct failing *f = e->user;
    (void)x;
    y[0] = shared[0];
    return e->k >= f->pullback ? 23 : 0;
}

static int forgotten_tangent(const struct fad_element *e, const double *shared, const double *x, double *y)
{
    (void)e, (void)shared, (void)x, (void)y;
    return 0;
}

static void errors_of_tangents(void **state)
{
    enum { N = 40 };
    struct fad_term_rule rule = {.value = bad_value, .pullback = bad_pullback};
    struct failing f = {N, N};
    struct fad_failure why;
    struct fad_check worst;
    double shared[2] = {1, 2}, direction[2] = {1, 0}, v = 42, d = 42;
    struct fad_sum s = {.terms = N, .shared = shared, .shared_count = 2, .rule = &rule, .user = &f, .failure = &why,
                        .leaf = 2, .grain = 1};
    (void)state;
    assert_int_equal(fad_sum_jvp(NULL, &s, direction, NULL, &v, &d), FAD_EUNSUPPORTED);
    assert_true(why.status == FAD_EUNSUPPORTED && why.index == SIZE_MAX && strstr(why.reason, "tangent"));
    rule.tangent = bad_tangent;
    for (size_t at = 0; at < N; at += 3)
        for (size_t i = 0; i < COUNTS; i++) {
            f = (struct failing){at, at + 1};
            assert_int_equal(fad_sum_jvp(pool_at(i), &s, direction, NULL, &v, &d), 21);
            assert_true(why.index == at && why.code == 21 && v == 42 && d == 42);
            f = (struct failing){at + 1, at};
            assert_int_equal(fad_sum_jvp(pool_at(i), &s, direction, NULL, &v, &d), 23);
            assert_true(why.index == at && why.code == 23 && v == 42 && d == 42);
        }
    f = (struct failing){N, N};
    assert_int_equal(fad_sum_jvp(NULL, &s, direction, NULL, &v, &d), 0);
    assert_true(v == N && d == N);
    assert_int_equal(fad_sum_check(NULL, &s, &worst), 0); /* no bound is known for what a rule adds up */
    assert_true(!worst.forward);
    rule.tangent = forgotten_tangent;
    assert_int_equal(fad_sum_jvp(NULL, &s, direction, NULL, &v, &d), 0);
    assert_true(isnan(d));
}

static void errors_of_whole_terms(void **state)
{
    enum { N = 40 };
    struct fad_term_rule rule = {.value = bad_value, .pullback = bad_pullback}, wrong = rule;
    struct failing f = {N, N};
    struct fad_failure why;
    double shared[2] = {1, 2}, v = 42, g[2] = {42, 42}, gs[2 * N];
    struct fad_sum s = {.terms = N, .shared = shared, .shared_count = 2, .rule = &rule, .user = &f, .failure = &why,
                        .leaf = 2, .grain = 1};
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct fad_sum bad = s;
        wrong = rule;
        bad.rule = &wrong;
        if (i == 0)
            wrong.value = NULL;
        else if (i == 1)
            wrong.pullback = NULL;
        else if (i == 2)
            wrong.reserved[1] = 1;
        else
            bad.term = term_with_rule;
        assert_int_equal(fad_sum_gradient(NULL, &bad, &v, g, NULL), FAD_EINVAL);
        assert_true(why.status == FAD_EINVAL && why.index == SIZE_MAX && why.reason && v == 42 && g[0] == 42);
    }
    for (size_t at = 0; at < N; at += 3)
        for (size_t i = 0; i < COUNTS; i++) {
            f = (struct failing){at, at + 1};
            assert_int_equal(fad_sum_gradient(pool_at(i), &s, &v, g, NULL), 21);
            assert_true(why.index == at && why.code == 21 && v == 42 && g[0] == 42);
            f = (struct failing){at + 1, at};
            assert_int_equal(fad_sum_gradient(pool_at(i), &s, &v, g, NULL), 22);
            assert_true(why.index == at && why.code == 22 && v == 42 && g[0] == 42);
            pattern_fill(gs, sizeof gs);
            assert_int_equal(fad_sum_terms(pool_at(i), &s, NULL, gs), 22);
            assert_true(why.index == at && pattern_intact(gs, sizeof gs));
        }
    f = (struct failing){N, N};
    assert_int_equal(fad_sum_gradient(NULL, &s, &v, g, NULL), 0);
    assert_true(v == N && g[0] == N && is_bits(g[1], 0));
    struct fad_nan nan = {.index = 3};
    v = g[0] = 42;
    assert_int_equal(fad_sum_hvp(NULL, &s, shared, &v, NULL, g), FAD_EUNSUPPORTED);
    assert_true(why.status == FAD_EUNSUPPORTED && why.reason && v == 42 && g[0] == 42);
    assert_int_equal(fad_sum_find_nan(NULL, &s, &nan), FAD_EUNSUPPORTED);
    assert_true(nan.index == 3);
}

/* ---- Memory ---- */

/* 10,000 recordings and gradients: nothing stays behind. */
static void flat_memory(void **state)
{
    static struct shape c;
    struct habits h = {0, 0, NULL, 0, 0};
    struct fad_rule r = poly_rule(&h);
    fad_tape *t = fad_tape_create();
    double v[SHAPE_Y], g[IN];
    size_t before = 0;
    (void)state;
    shape_make(&c, 3, false);
    struct fad_sum s = shape_ruled(&c, true);
    double *shared = malloc(SHAPE_Y * SHAPE_P * sizeof *shared);
    for (unsigned i = 0; i < 10000; i++) {
        fad_real x[IN], y[OUT];
        fad_tape_rewind(t, NULL);
        for (size_t j = 0; j < IN; j++)
            x[j] = fad_input(t, 1);
        struct fad_mark m = fad_tape_mark(t);
        for (unsigned again = 0; again < 20; again++)
            assert_int_equal(fad_rule_apply(t, &r, x, y), 0);
        fad_tape_rewind(t, &m);
        assert_int_equal(fad_rule_apply(t, &r, x, y), 0);
        assert_int_equal(fad_tape_reverse(t, y[1], 1, IN, x, g), 0);
        assert_true(g[1] == 121);
        assert_int_equal(fad_sum_gradient(NULL, &s, v, shared, NULL), 0);
        if (i == 1000)
            before = heap_in_use();
    }
    assert_true(heap_in_use() <= before);
    free(shared);
    fad_tape_destroy(t);
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
        cmocka_unit_test(operations),     cmocka_unit_test(which_results_are_used),
        cmocka_unit_test(recorders),      cmocka_unit_test(errors_of_operations),
        cmocka_unit_test(rules_in_terms), cmocka_unit_test(whole_terms),
        cmocka_unit_test(flat_memory),    cmocka_unit_test(errors_of_whole_terms),
        cmocka_unit_test(errors_of_tangents), cmocka_unit_test(forgotten_results),
        cmocka_unit_test(tangents_of_whole_terms),
        cmocka_unit_test(products_of_whole_terms),
        cmocka_unit_test(tangents_of_rules_in_terms),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
