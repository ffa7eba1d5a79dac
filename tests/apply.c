/* Sums as operations on an outer tape (fad_sum_apply, fad_sum_terms_apply), against the same terms recorded there one after the
 * other. Whole numbers, so that both are exact. */
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
    return worker_counts[i % COUNTS] ? pool_with(worker_counts[i % COUNTS]) : NULL;
}

/* ---- All shapes ---- */

enum { INPUTS = 6, PLACES = SHAPE_N * (SHAPE_X + 1) };

/* What an outer tape computes before and after. */
struct outer {
    fad_tape *t;
    fad_real in[INPUTS], shared[SHAPE_P], x[PLACES], y[SHAPE_N * SHAPE_Y];
};

static void outer_open(struct outer *u, uint64_t seed)
{
    u->t = fad_tape_create();
    for (size_t i = 0; i < INPUTS; i++)
        u->in[i] = fad_input(u->t, (double)(mix(seed, i) % 5) - 2);
    /* constants, inputs, results */
    for (size_t j = 0; j < SHAPE_P + PLACES; j++) {
        uint64_t d = mix(seed + 1, j);
        fad_real a = u->in[d % INPUTS], v = d / 8 % 4 == 0 ? fad_const((double)(d / 32 % 5) - 2)
                                          : d / 8 % 4 == 1 ? a
                                                           : fad_sub(u->t, a, u->in[d / 64 % INPUTS]);
        if (seed % 5 == 0)
            v = fad_const(v.value);
        *(j < SHAPE_P ? &u->shared[j] : &u->x[j - SHAPE_P]) = v;
    }
}

/* More operations follow; then everything is swept at once. */
static double outer_close(struct outer *u, size_t results, double *gradient)
{
    fad_real z = fad_square(u->t, u->in[1]);
    for (size_t r = 0; r < results; r++)
        z = fad_add(u->t, z, fad_mul(u->t, u->in[r % INPUTS], u->y[r]));
    assert_int_equal(fad_tape_reverse(u->t, z, 1, INPUTS, u->in, gradient), 0);
    double v = fad_value(u->t, z);
    fad_tape_destroy(u->t);
    return v;
}

static void one_shape(struct shape *c, uint64_t seed, bool each, bool ruled, fad_pool *pool)
{
    static struct outer direct, folded;
    size_t results = each ? c->n * c->y_count : c->y_count;
    double expected[INPUTS], g[INPUTS];
    bool plain_shared = seed % 7 == 0, plain_x = seed % 4 == 0;
    struct fad_sum s = ruled ? shape_ruled(c, seed % 2) : c->s;
    outer_open(&direct, seed);
    outer_open(&folded, seed);
    for (size_t j = 0; plain_shared && j < SHAPE_P; j++)
        direct.shared[j] = fad_const(c->shared[j]);
    for (size_t j = 0; plain_x && j < PLACES; j++)
        direct.x[j] = fad_const(c->x[j]);
    shape_record(c, direct.t, direct.shared, direct.x, direct.y, each);
    double value = outer_close(&direct, results, expected);
    if (!plain_shared) /* and no plain ones are looked at */
        s.shared = NULL;
    if (!plain_x) {
        s.x = NULL;
        for (size_t k = 0; k < SHAPE_N; k++)
            c->blocks[k].data = NULL;
    }
    c->runs = c->pullbacks = 0;
    int rc = (each ? fad_sum_terms_apply : fad_sum_apply)(pool, folded.t, &s, plain_shared ? NULL : folded.shared,
                                                          plain_x ? NULL : folded.x, folded.y);
    assert_int_equal(rc, 0);
    assert_true(c->runs == c->n);
    size_t pulled = c->pullbacks;
    bool same = outer_close(&folded, results, g) == value && same_bits(g, expected, sizeof g);
    if (!same)
        fail_msg("shape %llu, %s", (unsigned long long)seed, each ? "each term" : "the sum");
    assert_true(c->runs == c->n && c->pullbacks == pulled); /* once: no sweep runs a term */
}

static void all_shapes(void **state)
{
    static struct shape c;
    (void)state;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        shape_make(&c, seed, seed % 4 == 0 || seed % 3 == 0);
        one_shape(&c, seed, seed % 3 == 0, seed % 2, pool_at(seed));
    }
}

/* The recording is the same for every number of workers, in numbers that are not exact. */
static int inexact(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    (void)user;
    y[0] = fad_exp(t, fad_sin(t, fad_mul(t, s[k % 4], x[0])));
    y[1] = fad_log(t, fad_add(t, fad_square(t, fad_sub(t, x[1], s[3])), 0.1));
    return 0;
}

static uint64_t recorded(fad_pool *pool, bool traced, bool each)
{
    enum { N = 300 };
    static fad_real x[2 * N], y[2 * N];
    fad_tape *t = fad_tape_create();
    fad_real s[4];
    struct fad_sum sum = {.terms = N, .shared_count = 4, .x_count = 2, .y_count = 2, .term = inexact, .leaf = 7, .grain = 1};
    assert_int_equal(fad_tape_trace(t, traced), 0);
    for (size_t j = 0; j < 4; j++)
        s[j] = fad_input(t, 0.3 + 0.1 * (double)j);
    for (size_t i = 0; i < 2 * N; i++)
        x[i] = fad_sin(t, fad_mul(t, s[i % 4], 1.0 / (double)(i + 1)));
    assert_int_equal((each ? fad_sum_terms_apply : fad_sum_apply)(pool, t, &sum, s, x, y), 0);
    uint64_t digest = fad_tape_digest(t);
    for (size_t r = 0; r < (each ? N : 1); r++)
        digest = mix(digest, (uint64_t)(y[r].value * 0x1p60));
    fad_tape_destroy(t);
    return digest;
}

static void same_recording(void **state)
{
    (void)state;
    for (unsigned form = 0; form < 4; form++) {
        uint64_t first = recorded(NULL, form % 2, form / 2);
        for (unsigned run = 0; run < 40; run++)
            assert_true(recorded(pool_at(run), form % 2, form / 2) == first);
    }
}

/* ---- Depth ---- */

struct level {
    fad_pool *pool;
    unsigned depth;
    _Atomic size_t runs;
};

enum { FAN = 4 };

/* Depth d: FAN elements, each of which computes on, folds the next depth, and uses that. */
static int deeper(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    struct level *l = user;
    fad_real g[2] = {fad_mul(t, s[0], (double)k), fad_add(t, s[1], x[0])}, in[FAN], inner;
    atomic_fetch_add(&l->runs, 1);
    if (l->depth == 0) {
        *y = fad_mul(t, g[0], fad_square(t, g[1]));
        return 0;
    }
    for (size_t i = 0; i < FAN; i++)
        in[i] = i % 2 ? fad_sub(t, g[0], x[0]) : fad_const((double)i);
    struct level next = {l->pool, l->depth - 1, 0};
    struct fad_sum sum = {.terms = FAN, .shared_count = 2, .x_count = 1, .term = deeper, .user = &next, .leaf = 1, .grain = 1};
    int rc = fad_sum_apply(l->pool, t, &sum, g, in, &inner);
    atomic_fetch_add(&l->runs, next.runs);
    *y = fad_add(t, inner, fad_mul(t, g[1], x[0]));
    return rc;
}

/* The same on one tape. */
static fad_real flat(fad_tape *t, unsigned depth, const fad_real *s, const fad_real *x)
{
    fad_real sum = fad_const(0);
    for (size_t k = 0; k < FAN; k++) {
        fad_real g[2] = {fad_mul(t, s[0], (double)k), fad_add(t, s[1], x[k])}, in[FAN];
        if (depth == 0) {
            sum = fad_add(t, sum, fad_mul(t, g[0], fad_square(t, g[1])));
            continue;
        }
        for (size_t i = 0; i < FAN; i++)
            in[i] = i % 2 ? fad_sub(t, g[0], x[k]) : fad_const((double)i);
        sum = fad_add(t, sum, fad_add(t, flat(t, depth - 1, g, in), fad_mul(t, g[1], x[k])));
    }
    return sum;
}

/* Four sums inside each other, from plain numbers and from an outer tape. */
static void any_depth(void **state)
{
    double shared[2] = {1, 2}, x[FAN] = {1, -1, 2, 0}, expected[2 + FAN], g[2 + FAN], v;
    fad_tape *t = fad_tape_create();
    fad_real in[2 + FAN], y;
    (void)state;
    for (size_t i = 0; i < 2 + FAN; i++)
        in[i] = fad_input(t, i < 2 ? shared[i] : x[i - 2]);
    fad_real z = flat(t, 3, in, in + 2);
    assert_int_equal(fad_tape_reverse(t, z, 1, 2 + FAN, in, expected), 0);
    for (unsigned run = 0; run < 3 * COUNTS; run++) {
        struct level l = {pool_at(run), 3, 0};
        struct fad_sum s = {.terms = FAN, .shared = shared, .shared_count = 2, .x = x, .x_count = 1, .term = deeper,
                            .user = &l, .leaf = 1, .grain = 1};
        assert_int_equal(fad_sum_gradient(l.pool, &s, &v, g, g + 2), 0);
        assert_true(v == z.value && same_bits(g, expected, sizeof g) && l.runs == 4 + 16 + 64 + 256);
        pattern_fill(g, sizeof g);
        assert_int_equal(fad_sum_apply(l.pool, t, &s, in, in + 2, &y), 0);
        assert_int_equal(fad_tape_reverse(t, y, 1, 2 + FAN, in, g), 0);
        assert_true(y.value == z.value && same_bits(g, expected, sizeof g) && l.runs == 2 * (4 + 16 + 64 + 256));
    }
    fad_tape_destroy(t);
}

/* ---- What takes no part ---- */

static int picks(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    (void)user, (void)x;
    *y = fad_mul(t, (double)k, fad_square(t, s[0]));
    return 0;
}

/* Constants alone record nothing; an infinite adjoint does not reach what the sum does not depend on. */
static void constants_and_zeros(void **state)
{
    fad_tape *t = fad_tape_create();
    double plain[2] = {0, 7}, g[2];
    struct fad_sum s = {.terms = 3, .shared = plain, .shared_count = 2, .term = picks};
    fad_real two[2] = {fad_const(2), fad_const(7)}, y;
    (void)state;
    assert_int_equal(fad_sum_apply(NULL, t, &s, two, NULL, &y), 0);
    assert_true(y.stamp == 0 && y.value == 12 && fad_tape_mark(t).next == fadi_tape_of(t)->base);
    assert_int_equal(fad_sum_apply(NULL, t, &s, NULL, NULL, &y), 0);
    assert_true(y.stamp == 0 && y.value == 0);
    two[0] = fad_input(t, 2);
    two[1] = fad_input(t, 7);
    assert_int_equal(fad_sum_apply(NULL, t, &s, two, NULL, &y), 0);
    fad_real root = fad_sqrt(t, fad_sub(t, y, 12));
    assert_int_equal(fad_tape_reverse(t, root, 1, 2, two, g), 0);
    assert_true(g[0] == INFINITY && is_bits(g[1], 0));
    fad_tape_destroy(t);
}

/* ---- Errors ---- */

enum { N = 6, P = 3 };

struct scene {
    fad_tape *outer;
    fad_real shared[P], x[N];
    unsigned mode;
    size_t at;
    int seen; /* what a call on the outer tape has returned */
};

enum { NOTHING, FAILS, RETURNS_OUTER, USES_OUTER, RECORDS_ON_OUTER, ALLOCATES, CONDEMNS, APPLIES, NARY, RULES, TRIES_REST };

static int no_value(const double *x, double *y, double *saved, void *user)
{
    (void)x, (void)y, (void)saved, (void)user;
    return 0;
}

static int no_pullback(const double *x, const double *saved, const double *w, double *g, void *user)
{
    (void)x, (void)saved, (void)w, (void)g, (void)user;
    return 0;
}

static int misbehaving(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    struct scene *c = user;
    *y = fad_mul(t, s[k % P], x[0]);
    if (k != c->at)
        return 0;
    struct fad_mark m = fad_tape_mark(c->outer);
    struct fad_rule rule = {.inputs = 1, .outputs = 1, .value = no_value, .pullback = no_pullback};
    struct fad_sum inner = {.terms = 1, .shared_count = 2, .term = picks};
    double g;
    switch (c->mode) {
    case FAILS:
        return 17;
    case RETURNS_OUTER:
        *y = c->shared[0];
        break;
    case USES_OUTER:
        *y = fad_add(t, *y, c->x[1]);
        break;
    case RECORDS_ON_OUTER:
        *y = fad_square(c->outer, c->shared[0]);
        break;
    case ALLOCATES:
        fad_alloc(c->outer, 1);
        break;
    case CONDEMNS:
        fad_fail(c->outer, 3);
        break;
    case APPLIES:
        c->seen = fad_sum_apply(NULL, c->outer, &inner, c->shared, NULL, y);
        break;
    case NARY:
        *y = fad_dot(c->outer, P, c->shared, c->shared);
        break;
    case RULES:
        c->seen = fad_rule_apply(c->outer, &rule, c->shared, y);
        break;
    case TRIES_REST:
        if (fad_tape_rewind(c->outer, NULL) != FAD_EBUSY || fad_tape_rewind(c->outer, &m) != FAD_EBUSY ||
            fad_tape_destroy(c->outer) != FAD_EBUSY || fad_tape_trace(c->outer, true) != FAD_EBUSY ||
            fad_tape_reverse(c->outer, c->shared[0], 1, 1, c->shared, &g) != FAD_EBUSY ||
            fad_value(c->outer, c->shared[0]) != 1)
            return 99;
        break;
    }
    return 0;
}

static void scene_open(struct scene *c, fad_tape *t)
{
    memset(c, 0, sizeof *c);
    c->outer = t;
    for (size_t j = 0; j < P; j++)
        c->shared[j] = fad_input(t, 1);
    for (size_t i = 0; i < N; i++)
        c->x[i] = fad_input(t, 2);
}

/* The call fails so; y, the recording and the tape are as before, and the next call works. */
static void expect(struct scene *c, fad_tape *t, unsigned mode, int status, size_t index, int code)
{
    for (unsigned run = 0; run < 2 * COUNTS; run++) {
        struct fad_failure why = {0, 0, 0, NULL};
        struct fad_sum s = {.terms = N, .shared_count = P, .x_count = 1, .term = misbehaving, .user = c, .leaf = 1,
                            .grain = 1, .failure = &why};
        fad_real y[N];
        bool each = run % 2;
        pattern_fill(y, sizeof y);
        c->mode = mode;
        c->at = index == SIZE_MAX ? 4 : index;
        uint64_t digest = fad_tape_digest(c->outer);
        int rc = (each ? fad_sum_terms_apply : fad_sum_apply)(pool_at(run / 2), t, &s, c->shared, c->x, y);
        if (rc != status || why.status != status || why.index != index || why.code != code || !why.reason)
            fail_msg("mode %u: %d at %zu, code %d", mode, rc, why.index, why.code);
        assert_true(pattern_intact(y, sizeof y) && fad_tape_digest(c->outer) == digest && fad_tape_error(c->outer) == 0);
    }
}

static void expect_success(struct scene *c)
{
    struct fad_sum s = {.terms = N, .shared_count = P, .x_count = 1, .term = misbehaving, .user = c};
    fad_real y;
    double g[P];
    c->mode = NOTHING;
    assert_int_equal(fad_sum_apply(pool_with(3), c->outer, &s, c->shared, c->x, &y), 0);
    assert_int_equal(fad_tape_reverse(c->outer, y, 1, P, c->shared, g), 0);
    assert_true(y.value == 12 && g[0] == 4 && g[2] == 4);
}

static void terms_that_misbehave(void **state)
{
    fad_tape *t = fad_tape_create();
    struct scene c;
    (void)state;
    scene_open(&c, t);
    for (size_t at = 0; at < N; at++) {
        expect(&c, t, FAILS, 17, at, 17);
        expect(&c, t, RETURNS_OUTER, FAD_EHANDLE, at, 0);
        expect(&c, t, USES_OUTER, FAD_EHANDLE, at, 0);
        expect_success(&c);
    }
    for (unsigned mode = RECORDS_ON_OUTER; mode < TRIES_REST; mode++) {
        c.seen = FAD_EBUSY;
        expect(&c, t, mode, FAD_EHANDLE, SIZE_MAX, 0);
        assert_int_equal(c.seen, FAD_EBUSY);
        expect_success(&c);
    }
    c.mode = TRIES_REST;
    c.at = 2;
    fad_real y;
    struct fad_sum s = {.terms = N, .shared_count = P, .x_count = 1, .term = misbehaving, .user = &c};
    assert_int_equal(fad_sum_apply(pool_with(2), t, &s, c.shared, c.x, &y), 0);
    fad_tape_destroy(t);
}

/* Handles of another tape, of an earlier recording and from behind a mark, in every position; other refusals. */
static void what_is_given(void **state)
{
    fad_tape *t = fad_tape_create(), *other = fad_tape_create();
    struct scene c;
    (void)state;
    fad_real old = fad_input(t, 1);
    fad_tape_rewind(t, NULL);
    scene_open(&c, t);
    struct fad_mark m = fad_tape_mark(t);
    fad_input(t, 1);
    fad_real dead = fad_input(t, 1);
    fad_tape_rewind(t, &m);
    for (int i = 0; i < 30; i++)
        fad_input(other, 1); /* ids that are valid here too */
    fad_real bad[3] = {old, fad_input(other, 1), dead};
    for (size_t i = 0; i < 3 * (P + N); i++) {
        size_t at = i / 3;
        fad_real *place = at < P ? &c.shared[at] : &c.x[at - P], keep = *place;
        *place = bad[i % 3];
        expect(&c, t, NOTHING, FAD_EHANDLE, at < P ? SIZE_MAX : at - P, 0);
        *place = keep;
    }
    expect(&c, other, NOTHING, FAD_EHANDLE, SIZE_MAX, 0);
    expect(&c, NULL, NOTHING, FAD_EINVAL, SIZE_MAX, 0);
    struct fad_failure why;
    struct fad_sum s = {.terms = N, .shared_count = P, .x_count = 1, .term = misbehaving, .user = &c, .failure = &why};
    fad_real y;
    assert_int_equal(fad_sum_apply(NULL, t, &s, c.shared, c.x, NULL), FAD_EINVAL);
    assert_int_equal(fad_sum_apply(NULL, t, NULL, c.shared, c.x, &y), FAD_EINVAL);
    assert_int_equal(fad_sum_apply(NULL, t, &s, NULL, c.x, &y), FAD_EINVAL); /* no plain numbers either */
    assert_int_equal(fad_sum_apply(NULL, t, &s, c.shared, NULL, &y), FAD_EINVAL);
    size_t offsets[N + 1] = {0, 1, 2, 1, 3, 4, 5};
    s.x_offsets = offsets;
    c.at = N;
    assert_int_equal(fad_sum_apply(pool_with(2), t, &s, c.shared, c.x, &y), FAD_EINVAL);
    assert_true(why.index == 2 && why.code == 0);
    expect_success(&c);
    fad_fail(t, 6);
    s.x_offsets = NULL;
    assert_int_equal(fad_sum_apply(NULL, t, &s, c.shared, c.x, &y), 6);
    assert_true(why.status == 6 && why.index == SIZE_MAX);
    fad_tape_destroy(t);
    fad_tape_destroy(other);
}

static fad_real no_op(fad_tape *t, unsigned op, double v, const fad_real *operands)
{
    (void)t, (void)op, (void)operands;
    return fad_const(v);
}

/* Where somebody else records there is no place for a sum: the recording fails as a whole, so that nobody uses it. */
static void recorders(void **state)
{
    static const struct fadi_recorder recorder = {.op = no_op};
    double plain[2] = {3, 7};
    struct fad_sum s = {.terms = 3, .shared = plain, .shared_count = 2, .term = picks};
    fad_tape *t = fad_tape_create();
    fad_real v[2] = {fad_input(t, 1), fad_input(t, 1)}, y;
    (void)state;
    fadi_tape_set_recorder(fadi_tape_of(t), &recorder, NULL);
    assert_int_equal(fad_sum_apply(pool_with(2), t, &s, NULL, NULL, &y), 0);
    assert_true(y.value == 27 && fad_tape_error(t) == 0);
    assert_int_equal(fad_sum_apply(NULL, t, &s, v, NULL, &y), FAD_EUNSUPPORTED);
    assert_int_equal(fad_tape_error(t), FAD_EUNSUPPORTED);
    fad_tape_destroy(t);
}

/* 10,000 recordings with sums in them, failing ones too: nothing stays behind. */
static void flat_memory(void **state)
{
    fad_tape *t = fad_tape_create();
    struct scene c;
    struct level l = {NULL, 1, 0};
    size_t before = 0;
    (void)state;
    for (unsigned i = 0; i < 10000; i++) {
        fad_real y[N], z;
        double g;
        fad_tape_rewind(t, NULL);
        scene_open(&c, t);
        c.mode = i % 3 == 1 ? FAILS : NOTHING;
        struct fad_sum s = {.terms = N, .shared_count = P, .x_count = 1, .term = misbehaving, .user = &c};
        struct fad_sum nested = {.terms = FAN, .shared_count = 2, .x_count = 1, .term = deeper, .user = &l};
        assert_int_equal((i % 2 ? fad_sum_terms_apply : fad_sum_apply)(NULL, t, &s, c.shared, c.x, y), i % 3 == 1 ? 17 : 0);
        assert_int_equal(fad_sum_apply(NULL, t, &nested, c.shared, c.x, &z), 0);
        assert_int_equal(fad_tape_reverse(t, z, 1, 1, c.x, &g), 0);
        if (i == 1000)
            before = heap_in_use();
    }
    assert_true(heap_in_use() <= before);
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
        cmocka_unit_test(all_shapes),     cmocka_unit_test(same_recording),
        cmocka_unit_test(any_depth),      cmocka_unit_test(constants_and_zeros),
        cmocka_unit_test(what_is_given),  cmocka_unit_test(terms_that_misbehave),
        cmocka_unit_test(recorders),      cmocka_unit_test(flat_memory),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
