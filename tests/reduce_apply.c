/* Folds as operations on an outer tape (fad_reduce_apply): each result against fad_reduce_gradient, whole computations against the
 * same recorded on one tape. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/ad_support.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ad/tape.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const unsigned worker_counts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};

static fad_pool *pool_at(size_t i)
{
    unsigned workers = worker_counts[i % COUNT(worker_counts)];
    return workers ? pool_with(workers) : NULL;
}

/* ---- Against fad_reduce_gradient: the same bits ---- */

enum { N = 60, P = 3, WIDE = 4, PLACES = N * WIDE, RESULTS = 8 };

static int term(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *v, void *user)
{
    (void)user;
    v[0] = fad_mul(t, s[0], x[0]);
    fad_real e = fad_exp(t, fad_mul(t, s[2], x[0]));
    v[1] = fad_fma(t, x[1], e, s[1]);
    v[2] = k % 7 ? x[1] : s[0];
    return 0;
}

static int affine(fad_tape *t, const fad_real *a, const fad_real *b, fad_real *out, void *user)
{
    (void)user;
    out[0] = fad_mul(t, a[0], b[0]);
    out[1] = fad_fma(t, a[0], b[1], a[1]);
    return 0;
}

static int ending(fad_tape *t, const fad_real *s, const fad_real *z, fad_real *y, void *user)
{
    (void)user;
    fad_real all = fad_sum_of(t, RESULTS, z), square = fad_square(t, z[6]);
    y[0] = fad_fma(t, s[1], all, square);
    y[1] = z[2];
    y[2] = s[2];
    y[3] = fad_const(5);
    return 0;
}

static const struct fad_part rich_parts[] = {
    {.kind = FAD_PART_LOGSUMEXP, .column = 1},
    {.width = 2, .column = 0, .combine = affine},
    {.kind = FAD_PART_MEAN_VARIANCE, .column = 2},
    {.kind = FAD_PART_WEIGHTED_SUM, .column = 0, .weight = 2},
    {.kind = FAD_PART_MAX, .column = 1},
    {.kind = FAD_PART_ARGMAX, .column = 1},
};
static const struct fad_part plain_parts[] = {
    {.kind = FAD_PART_PRODUCT},
    {.kind = FAD_PART_LOGSUMEXP, .column = 1},
    {.kind = FAD_PART_MEAN_VARIANCE},
    {.kind = FAD_PART_WEIGHTED_SUM, .column = 1, .weight = 0},
    {.kind = FAD_PART_MIN, .column = 1},
    {.kind = FAD_PART_ARGMIN, .column = 1},
    {.kind = FAD_PART_SUM, .column = 1},
};

struct scene {
    struct fad_reduce r;
    double shared[P], x[PLACES], block_gradient[PLACES];
    size_t offsets[N + 1];
    struct fad_block blocks[N];
    unsigned char x_fixed[2], shared_fixed[P];
    bool active[P + PLACES]; /* the handle of that place is no constant */
};

static void scene_make(struct scene *c, unsigned form)
{
    struct dice d = {form + 1};
    memset(c, 0, sizeof *c);
    for (size_t j = 0; j < P; j++)
        c->shared[j] = dice_between(&d, -0.9, 0.9);
    for (size_t j = 0; j < PLACES; j++)
        c->x[j] = dice_between(&d, 0.5, 1.5);
    for (size_t j = 0; j < P + PLACES; j++)
        c->active[j] = form % 5 != 4 && dice_below(&d, 4) != 0;
    c->offsets[0] = 0;
    for (size_t k = 0; k < N; k++) {
        size_t count = 2 + dice_below(&d, 2);
        c->offsets[k + 1] = c->offsets[k] + count;
        c->blocks[k] = (struct fad_block){c->x + c->offsets[k], count, c->block_gradient + c->offsets[k]};
    }
    c->r = (struct fad_reduce){.of = {.terms = N, .shared = c->shared, .shared_count = P, .x = c->x, .leaf = 1 + dice_below(&d, 9),
                                      .grain = 1},
                               .recompute = form % 3 == 2};
    bool rich = form & 1;
    if (rich) {
        c->r.of.term = term;
        c->r.of.y_count = 3;
        c->r.finish = ending;
        c->r.y_count = 4;
    }
    c->r.parts = rich ? rich_parts : plain_parts;
    c->r.part_count = rich ? COUNT(rich_parts) : COUNT(plain_parts);
    switch (form / 2 % 5) {
    case 0:
        c->r.of.x_count = 2;
        break;
    case 1:
        c->r.of.x_count = 2;
        c->r.of.x_stride = WIDE;
        break;
    case 2:
        c->r.of.x_offsets = c->offsets;
        break;
    case 3:
        c->r.of.x_blocks = c->blocks;
        break;
    default:
        c->r.of.x_count = 2;
        c->r.of.x_fixed = c->x_fixed;
        c->r.of.shared_fixed = c->shared_fixed;
        c->x_fixed[0] = c->shared_fixed[1] = 1;
    }
    if (form / 10 % 3 == 1) {
        c->r.of.first = 8;
        c->r.of.count = 33;
    }
}

/* Result r's gradient by fad_reduce_gradient: all places, zeros where nothing is written. */
static void expect(const struct scene *c, size_t r, double *y, double *shared, double *x)
{
    double seed[RESULTS + 1] = {0};
    seed[r] = 1;
    memset(x, 0, PLACES * sizeof *x);
    memset((double *)c->block_gradient, 0, sizeof c->block_gradient);
    assert_int_equal(fad_reduce_gradient(NULL, &c->r, seed, y, shared, c->r.of.x_blocks ? NULL : x), 0);
    if (c->r.of.x_blocks)
        memcpy(x, c->block_gradient, sizeof c->block_gradient);
}

static void one_form(struct scene *c, fad_pool *pool, uint64_t *digest)
{
    static fad_real in[P + PLACES];
    size_t results = fad_reduce_results(&c->r);
    fad_real y[RESULTS + 1];
    double expected_y[RESULTS + 1], shared[P], x[PLACES], g[P + PLACES];
    fad_tape *t = fad_tape_create();
    struct fad_reduce r = c->r;
    struct fad_block blocks[N];
    for (size_t j = 0; j < P + PLACES; j++) {
        double v = j < P ? c->shared[j] : c->x[j - P];
        in[j] = c->active[j] ? fad_input(t, v) : fad_const(v);
    }
    memcpy(blocks, c->blocks, sizeof blocks);
    for (size_t k = 0; k < N; k++)
        blocks[k].data = blocks[k].gradient = NULL; /* the plain numbers are not looked at */
    r.of.x_blocks = r.of.x_blocks ? blocks : NULL;
    r.of.shared = r.of.x = NULL;
    assert_in_range(results, 1, RESULTS + 1);
    assert_int_equal(fad_reduce_apply(pool, t, &r, in, in + P, y), 0);
    *digest = fad_tape_digest(t);
    for (size_t i = 0; i < results; i++) {
        expect(c, i, expected_y, shared, x);
        assert_true(is_bits(y[i].value, expected_y[i]));
        assert_int_equal(fad_tape_reverse(t, y[i], 1, P + PLACES, in, g), 0);
        for (size_t j = 0; j < P + PLACES; j++)
            if (!is_bits(g[j], c->active[j] ? j < P ? shared[j] : x[j - P] : 0))
                fail_msg("result %zu, place %zu: %a", i, j, g[j]);
    }
    fad_tape_destroy(t);
}

static void the_gradient_of_each_result(void **state)
{
    static struct scene c;
    (void)state;
    for (unsigned form = 0; form < 60; form++) {
        uint64_t first, digest;
        scene_make(&c, form);
        one_form(&c, NULL, &first);
        for (size_t i = 1; i < COUNT(worker_counts); i++) {
            c.r.recompute = !c.r.recompute;
            one_form(&c, pool_at(i), &digest);
            assert_true(digest == first);
        }
    }
}

/* Elements that share numbers: their derivatives add up in the sweep. All whole numbers. */
static void elements_that_overlap(void **state)
{
    double g[7], seed = 1;
    fad_tape *t = fad_tape_create();
    fad_real in[7], y;
    struct fad_part part = {.kind = FAD_PART_WEIGHTED_SUM, .weight = 1};
    struct fad_reduce r = {.of = {.terms = 6, .x_count = 2, .x_stride = 1, .leaf = 2}, .parts = &part, .part_count = 1};
    (void)state;
    for (size_t i = 0; i < 7; i++)
        in[i] = fad_input(t, (double)(i * i));
    assert_int_equal(fad_reduce_apply(pool_with(2), t, &r, NULL, in, &y), 0); /* sum of x[i] x[i + 1] */
    assert_int_equal(fad_tape_reverse(t, y, seed, 7, in, g), 0);
    assert_true(y.value == 0 * 1 + 1 * 4 + 4 * 9 + 9 * 16 + 16 * 25 + 25 * 36);
    for (size_t i = 0; i < 7; i++) {
        double before = i ? (double)((i - 1) * (i - 1)) : 0, after = i < 6 ? (double)((i + 1) * (i + 1)) : 0;
        assert_true(g[i] == before + after);
    }
    fad_tape_destroy(t);
}

/* ---- Depth: folds in terms, in combines and in finishes ---- */

enum { FAN = 3 };

struct level {
    fad_pool *pool;
    unsigned depth;
};

static fad_real fold_here(struct level *l, fad_tape *t, const fad_real *s, const fad_real *x, int *rc);

/* s0 x + 1 at the bottom, else with what the next depth makes of it. */
static int deep_term(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *v, void *user)
{
    struct level *l = user, next = {l->pool, l->depth - 1};
    int rc = 0;
    fad_real a = fad_fma(t, s[0], x[0], fad_const(1)), in[FAN];
    v[0] = a;
    if (l->depth == 0)
        return 0;
    for (size_t i = 0; i < FAN; i++)
        in[i] = i == k % FAN ? a : fad_const((double)i);
    v[0] = fold_here(&next, t, s, in, &rc);
    return rc;
}

/* a b, by a fold of its own over both */
static int deep_combine(fad_tape *t, const fad_real *a, const fad_real *b, fad_real *out, void *user)
{
    const struct level *l = user;
    struct fad_part part = {.kind = FAD_PART_PRODUCT};
    struct fad_reduce r = {.of = {.terms = 2, .x_count = 1, .leaf = 1, .grain = 1}, .parts = &part, .part_count = 1};
    fad_real both[2] = {a[0], b[0]};
    return fad_reduce_apply(l->pool, t, &r, NULL, both, out);
}

static int deep_square(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *y, void *user)
{
    (void)k, (void)s, (void)user;
    *y = fad_square(t, x[0]);
    return 0;
}

/* z0 + s1 + the sum of squares of z and s1, by a sum of its own */
static int deep_ending(fad_tape *t, const fad_real *s, const fad_real *z, fad_real *y, void *user)
{
    const struct level *l = user;
    struct fad_sum sum = {.terms = 2, .x_count = 1, .term = deep_square, .leaf = 1, .grain = 1};
    fad_real both[2] = {z[0], s[1]}, squares;
    int rc = fad_sum_apply(l->pool, t, &sum, NULL, both, &squares);
    fad_real plain = fad_add(t, z[0], s[1]);
    *y = fad_add(t, plain, squares);
    return rc;
}

static struct fad_reduce deep_fold(struct level *l, struct fad_part *part)
{
    *part = (struct fad_part){.width = 1, .combine = deep_combine, .user = l};
    return (struct fad_reduce){.of = {.terms = FAN, .shared_count = 2, .x_count = 1, .y_count = 1, .term = deep_term, .user = l,
                                      .leaf = 1, .grain = 1},
                               .parts = part, .part_count = 1, .finish = deep_ending, .user = l, .recompute = l->depth % 2};
}

static fad_real fold_here(struct level *l, fad_tape *t, const fad_real *s, const fad_real *x, int *rc)
{
    struct fad_part part;
    struct fad_reduce r = deep_fold(l, &part);
    fad_real y = fad_const(0);
    *rc = fad_reduce_apply(l->pool, t, &r, s, x, &y);
    return y;
}

/* The same on one tape. */
static fad_real flat(fad_tape *t, unsigned depth, const fad_real *s, const fad_real *x)
{
    fad_real product = fad_const(1);
    for (size_t k = 0; k < FAN; k++) {
        fad_real a = fad_fma(t, s[0], x[k], fad_const(1)), in[FAN];
        for (size_t i = 0; i < FAN; i++)
            in[i] = i == k % FAN ? a : fad_const((double)i);
        product = fad_mul(t, product, depth ? flat(t, depth - 1, s, in) : a);
    }
    fad_real first = fad_square(t, product), second = fad_square(t, s[1]);
    fad_real plain = fad_add(t, product, s[1]), squares = fad_add(t, first, second);
    return fad_add(t, plain, squares);
}

/* Whole numbers below 2^53: no rounding. */
static void any_depth(void **state)
{
    static const double start[2 + FAN] = {0, -1, 1, -1, 0};
    (void)state;
    for (unsigned depth = 0; depth < 3; depth++) {
        fad_tape *t = fad_tape_create();
        fad_real in[2 + FAN], y;
        double expected[2 + FAN], g[2 + FAN], tangent, seeds[2 + FAN] = {1, 2, 3, 4, 5}, sum = 0;
        for (size_t i = 0; i < 2 + FAN; i++)
            in[i] = fad_input(t, start[i]);
        fad_real z = flat(t, depth, in, in + 2);
        assert_int_equal(fad_tape_reverse(t, z, 1, 2 + FAN, in, expected), 0);
        for (size_t i = 0; i < 2 + FAN; i++)
            sum += fabs(expected[i]);
        assert_true(sum > 0 && sum < 0x1p50);
        for (size_t run = 0; run < COUNT(worker_counts); run++) {
            struct level l = {pool_at(run), depth};
            int rc;
            y = fold_here(&l, t, in, in + 2, &rc);
            assert_int_equal(rc, 0);
            assert_int_equal(fad_tape_reverse(t, y, 1, 2 + FAN, in, g), 0);
            assert_true(y.value == z.value && same_bits(g, expected, sizeof g));
            assert_int_equal(fad_tape_forward(t, y, 1, 2 + FAN, in, seeds, &tangent), 0);
            sum = 0;
            for (size_t i = 0; i < 2 + FAN; i++)
                sum += seeds[i] * expected[i];
            assert_true(tangent == sum);
        }
        fad_tape_destroy(t);
    }
}

/* ---- What takes no part ---- */

static void constants(void **state)
{
    double plain[] = {2, 3, 5};
    struct fad_part part = {.kind = FAD_PART_PRODUCT}, which = {.kind = FAD_PART_ARGMAX};
    struct fad_reduce r = {.of = {.terms = 3, .x = plain, .x_count = 1}, .parts = &part, .part_count = 1};
    fad_tape *t = fad_tape_create();
    fad_real c[3] = {fad_const(2), fad_const(3), fad_const(5)}, y;
    (void)state;
    assert_int_equal(fad_reduce_apply(NULL, t, &r, NULL, NULL, &y), 0);
    assert_true(y.stamp == 0 && y.value == 30);
    assert_int_equal(fad_reduce_apply(NULL, t, &r, NULL, c, &y), 0);
    assert_true(y.stamp == 0 && y.value == 30 && fad_tape_mark(t).next == fadi_tape_of(t)->base);
    c[1] = fad_input(t, 3);
    r.parts = &which;
    assert_int_equal(fad_reduce_apply(NULL, t, &r, NULL, c, &y), 0);
    assert_true(y.stamp == 0 && y.value == 2);
    r.of.terms = 0;
    assert_int_equal(fad_reduce_apply(NULL, t, &r, NULL, c, &y), 0);
    assert_true(y.stamp == 0 && y.value == -1);
    fad_tape_destroy(t);
}

/* The user's rounding mode has no part in what lies between the folds of a call, and is there again afterwards. */
static void rounding_modes(void **state)
{
    static struct scene c;
    double seed[4] = {1, 0.3, 0.7, 0.1}, near[4], up[4], near_x[PLACES] = {0}, up_x[PLACES] = {0};
    fad_tape *t = fad_tape_create();
    fad_real in[P + PLACES], y[2][4];
    (void)state;
    scene_make(&c, 1);
    for (size_t j = 0; j < P + PLACES; j++)
        in[j] = fad_input(t, j < P ? c.shared[j] : c.x[j - P]);
    assert_int_equal(fad_reduce_gradient(NULL, &c.r, seed, near, NULL, near_x), 0);
    assert_int_equal(fad_reduce_apply(NULL, t, &c.r, in, in + P, y[0]), 0);
    fesetround(FE_UPWARD);
    assert_int_equal(fad_reduce_gradient(NULL, &c.r, seed, up, NULL, up_x), 0);
    assert_int_equal(fad_reduce_apply(NULL, t, &c.r, in, in + P, y[1]), 0);
    assert_int_equal(fegetround(), FE_UPWARD);
    fesetround(FE_TONEAREST);
    assert_memory_equal(near, up, sizeof up);
    assert_memory_equal(near_x, up_x, sizeof up_x);
    for (size_t i = 0; i < 4; i++)
        assert_true(is_bits(y[0][i].value, y[1][i].value));
    fad_tape_destroy(t);
}

/* ---- Errors ---- */

enum { NOTHING, TERM_FAILS, COMBINE_FAILS, END_FAILS, TERM_RETURNS_OUTER, COMBINE_RETURNS_OUTER, END_RETURNS_OUTER, RECORDS_ON_OUTER,
       ENDS_ON_OUTER, APPLIES };

struct trouble {
    fad_tape *outer;
    fad_real shared[2], x[8];
    unsigned mode;
    int seen;
};

static int bad_term(fad_tape *t, size_t k, const fad_real *s, const fad_real *x, fad_real *v, void *user)
{
    struct trouble *c = user;
    struct fad_part part = {.kind = FAD_PART_SUM};
    struct fad_reduce r = {.of = {.terms = 2, .x_count = 1}, .parts = &part, .part_count = 1};
    v[0] = fad_mul(t, s[0], x[0]);
    if (k != 5)
        return 0;
    if (c->mode == TERM_FAILS)
        return 21;
    if (c->mode == TERM_RETURNS_OUTER)
        v[0] = c->x[0];
    if (c->mode == RECORDS_ON_OUTER)
        fad_square(c->outer, c->x[0]);
    if (c->mode == APPLIES)
        c->seen = fad_reduce_apply(NULL, c->outer, &r, NULL, c->x, v);
    return 0;
}

static int bad_combine(fad_tape *t, const fad_real *a, const fad_real *b, fad_real *out, void *user)
{
    const struct trouble *c = user;
    *out = c->mode == COMBINE_RETURNS_OUTER ? c->x[1] : fad_add(t, a[0], b[0]);
    return c->mode == COMBINE_FAILS ? 22 : 0;
}

static int bad_end(fad_tape *t, const fad_real *s, const fad_real *z, fad_real *y, void *user)
{
    const struct trouble *c = user;
    *y = fad_mul(t, s[1], z[0]);
    if (c->mode == END_RETURNS_OUTER)
        *y = c->x[2];
    if (c->mode == ENDS_ON_OUTER)
        fad_square(c->outer, c->x[0]);
    return c->mode == END_FAILS ? 23 : 0;
}

static struct fad_reduce bad_fold(struct trouble *c, struct fad_part *part, struct fad_failure *why)
{
    *part = (struct fad_part){.width = 1, .combine = bad_combine, .user = c};
    return (struct fad_reduce){.of = {.terms = 8, .shared_count = 2, .x_count = 1, .term = bad_term, .user = c, .leaf = 2, .grain = 1,
                                      .failure = why},
                               .parts = part, .part_count = 1, .finish = bad_end, .user = c};
}

/* So fails the call, on t; y, the recording and the outer tape are as before. */
static void fails(struct trouble *c, fad_tape *t, unsigned mode, int status, size_t index, int code)
{
    for (size_t run = 0; run < 2 * COUNT(worker_counts); run++) {
        struct fad_failure why = {0, 0, 0, NULL};
        struct fad_part part;
        struct fad_reduce r = bad_fold(c, &part, &why);
        fad_real y;
        r.recompute = run % 2;
        c->mode = mode;
        pattern_fill(&y, sizeof y);
        uint64_t digest = fad_tape_digest(c->outer);
        int rc = fad_reduce_apply(pool_at(run / 2), t, &r, c->shared, c->x, &y);
        if (rc != status || why.status != status || why.index != index || why.code != code || !why.reason)
            fail_msg("mode %u: %d at %zu, code %d", mode, rc, why.index, why.code);
        assert_true(pattern_intact(&y, sizeof y) && fad_tape_digest(c->outer) == digest && fad_tape_error(c->outer) == 0);
    }
}

static void works(struct trouble *c)
{
    struct fad_part part;
    struct fad_reduce r = bad_fold(c, &part, NULL);
    double g[2];
    fad_real y;
    c->mode = NOTHING;
    assert_int_equal(fad_reduce_apply(pool_with(3), c->outer, &r, c->shared, c->x, &y), 0);
    assert_int_equal(fad_tape_reverse(c->outer, y, 1, 2, c->shared, g), 0);
    assert_true(y.value == 48 && g[0] == 48 && g[1] == 16);
}

static void trouble_open(struct trouble *c, fad_tape *t)
{
    *c = (struct trouble){.outer = t};
    c->shared[0] = fad_input(t, 1);
    c->shared[1] = fad_input(t, 3);
    for (size_t i = 0; i < 8; i++)
        c->x[i] = fad_input(t, 2);
}

static void callbacks_that_misbehave(void **state)
{
    fad_tape *t = fad_tape_create();
    struct trouble c;
    (void)state;
    trouble_open(&c, t);
    works(&c);
    fails(&c, t, TERM_FAILS, 21, 5, 21);
    works(&c);
    fails(&c, t, COMBINE_FAILS, 22, 1, 22);
    fails(&c, t, END_FAILS, 23, SIZE_MAX, 23);
    fails(&c, t, TERM_RETURNS_OUTER, FAD_EHANDLE, 5, 0);
    fails(&c, t, COMBINE_RETURNS_OUTER, FAD_EHANDLE, 1, 0);
    fails(&c, t, END_RETURNS_OUTER, FAD_EHANDLE, SIZE_MAX, 0);
    fails(&c, t, RECORDS_ON_OUTER, FAD_EHANDLE, SIZE_MAX, 0);
    fails(&c, t, ENDS_ON_OUTER, FAD_EHANDLE, SIZE_MAX, 0);
    works(&c);
    fails(&c, t, APPLIES, FAD_EHANDLE, SIZE_MAX, 0);
    assert_int_equal(c.seen, FAD_EBUSY);
    works(&c);
    fad_tape_destroy(t);
}

static fad_real no_op(fad_tape *t, unsigned op, double v, const fad_real *operands)
{
    (void)t, (void)op, (void)operands;
    return fad_const(v);
}

static void what_is_given(void **state)
{
    static const struct fadi_recorder recorder = {.op = no_op};
    fad_tape *t = fad_tape_create(), *other = fad_tape_create();
    struct trouble c;
    struct fad_failure why = {0, 0, 0, NULL};
    struct fad_part part;
    fad_real y;
    (void)state;
    fad_real old = fad_input(t, 1);
    fad_tape_rewind(t, NULL);
    trouble_open(&c, t);
    for (int i = 0; i < 30; i++)
        fad_input(other, 1); /* ids that are valid here too */
    fad_real bad[2] = {old, fad_input(other, 1)};
    for (size_t i = 0; i < 2 * 10; i++) {
        fad_real *place = i / 2 < 2 ? &c.shared[i / 2] : &c.x[i / 2 - 2], keep = *place;
        *place = bad[i % 2];
        fails(&c, t, NOTHING, FAD_EHANDLE, i / 2 < 2 ? SIZE_MAX : i / 2 - 2, 0);
        *place = keep;
    }
    fails(&c, other, NOTHING, FAD_EHANDLE, SIZE_MAX, 0);
    fails(&c, NULL, NOTHING, FAD_EINVAL, SIZE_MAX, 0);
    struct fad_reduce r = bad_fold(&c, &part, &why);
    assert_int_equal(fad_reduce_apply(NULL, t, &r, c.shared, c.x, NULL), FAD_EINVAL);
    assert_int_equal(fad_reduce_apply(NULL, t, NULL, c.shared, c.x, &y), FAD_EINVAL);
    assert_int_equal(fad_reduce_apply(NULL, t, &r, NULL, c.x, &y), FAD_EINVAL); /* no plain numbers either */
    assert_int_equal(fad_reduce_apply(NULL, t, &r, c.shared, NULL, &y), FAD_EINVAL);
    size_t offsets[9] = {0, 1, 2, 1, 3, 4, 5, 6, 7};
    r.of.x_offsets = offsets;
    assert_int_equal(fad_reduce_apply(pool_with(2), t, &r, c.shared, c.x, &y), FAD_EINVAL);
    assert_true(why.index == 2 && why.code == 0);
    r.of.x_offsets = NULL;
    works(&c);
    fadi_tape_set_recorder(fadi_tape_of(t), &recorder, NULL);
    assert_int_equal(fad_reduce_apply(NULL, t, &r, c.shared, c.x, &y), FAD_EUNSUPPORTED);
    assert_true(fad_tape_error(t) == FAD_EUNSUPPORTED && why.status == FAD_EUNSUPPORTED);
    fad_tape_rewind(t, NULL);
    fadi_tape_set_recorder(fadi_tape_of(t), NULL, NULL);
    trouble_open(&c, t);
    fad_fail(t, 6);
    assert_int_equal(fad_reduce_apply(NULL, t, &r, c.shared, c.x, &y), 6);
    fad_tape_destroy(t);
    fad_tape_destroy(other);
}

static int done(void **state)
{
    (void)state;
    pools_end();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gradient_of_each_result), cmocka_unit_test(elements_that_overlap),
        cmocka_unit_test(any_depth),                   cmocka_unit_test(constants),
        cmocka_unit_test(rounding_modes),              cmocka_unit_test(callbacks_that_misbehave),
        cmocka_unit_test(what_is_given),
    };
    return cmocka_run_group_tests(tests, NULL, done);
}
