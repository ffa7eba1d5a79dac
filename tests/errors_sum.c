/* Errors of sums: descriptions that make no sense, handles that do not belong to the element, terms that fail. In every
 * case the outputs stay as they were, the failure says who and why, and the next call works. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/random_sum.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { N = 24, P = 5, Y = 2, XN = 3 };

struct fixture {
    struct fad_sum s;
    double shared[P], x[N * XN];
    size_t offsets[N + 1];
    struct fad_block blocks[N];
    uint32_t touch[N * 2];
    unsigned mode;
    size_t at;     /* where the term does what `mode` says */
    fad_tape *other;
    struct fad_sum *inner;
    fad_pool *pool;
};

static int plain(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user)
{
    (void)k;
    (void)user;
    y[0] = fad_mul(t, shared[0], fad_element_count(t) ? x[0] : fad_const(1));
    y[1] = fad_exp(t, shared[1]);
    return 0;
}

static void set_up(struct fixture *f)
{
    memset(f, 0, sizeof *f);
    for (size_t i = 0; i < N * XN; i++)
        f->x[i] = 0.5 + (double)i;
    for (size_t i = 0; i < P; i++)
        f->shared[i] = 1.0 / (double)(i + 1);
    for (size_t k = 0; k <= N; k++)
        f->offsets[k] = k * XN;
    for (size_t k = 0; k < N; k++)
        f->blocks[k] = (struct fad_block){f->x + k * XN, XN, NULL};
    for (size_t i = 0; i < 2 * N; i++)
        f->touch[i] = (uint32_t)(i % P);
    f->s.terms = N;
    f->s.shared = f->shared;
    f->s.shared_count = P;
    f->s.x = f->x;
    f->s.x_count = XN;
    f->s.y_count = Y;
    f->s.leaf = 2;
    f->s.grain = 1;
    f->s.term = plain;
    f->s.user = f;
}

/* All three calls fail so, with untouched outputs; gradient: only the call that is asked for a gradient of x. */
static void expect_failure(struct fixture *f, int status, size_t index, int code, bool x_only, const char *what)
{
    static const unsigned workers[] = {0, 1, 2, 4, 16};
    struct {
        double value[Y], shared[Y * P], x[Y * N * XN], values[N * Y], gradients[N * Y * P];
    } o;
    for (size_t w = 0; w < sizeof workers / sizeof *workers; w++)
        for (unsigned call = 0; call < 3; call++) {
            struct fad_failure why;
            fad_pool *pool = workers[w] ? pool_with(workers[w]) : NULL;
            int rc;
            if (x_only && call != 1)
                continue;
            f->pool = pool;
            pattern_fill(&o, sizeof o);
            memset(&why, 0, sizeof why);
            f->s.failure = w % 2 ? &why : NULL;
            if (call == 0)
                rc = fad_sum_value(pool, &f->s, o.value);
            else if (call == 1)
                rc = fad_sum_gradient(pool, &f->s, o.value, o.shared, o.x);
            else
                rc = fad_sum_terms(pool, &f->s, o.values, o.gradients);
            if (rc != status || !pattern_intact(&o, sizeof o))
                fail_msg("%s: call %u returned %d, outputs %s", what, call, rc,
                         pattern_intact(&o, sizeof o) ? "untouched" : "touched");
            if (f->s.failure && (why.status != status || why.index != index || why.code != code || !why.reason))
                fail_msg("%s: call %u: status %d, index %zu, code %d", what, call, why.status, why.index, why.code);
        }
}

static void expect_success(struct fixture *f)
{
    double value[Y], shared[Y * P], x[Y * N * XN];
    struct fad_failure why;
    pattern_fill(&why, sizeof why);
    f->s.failure = &why;
    f->pool = pool_with(3);
    assert_int_equal(fad_sum_gradient(f->pool, &f->s, value, shared, x), 0);
    assert_true(pattern_intact(&why, sizeof why)); /* filled only when a call fails */
}

/* ---- descriptions ---- */

#define REFUSED(status, change)                                 \
    do {                                                        \
        set_up(&f);                                             \
        expect_success(&f);                                     \
        change;                                                 \
        expect_failure(&f, status, SIZE_MAX, 0, false, #change); \
    } while (0)

static void descriptions_that_make_no_sense(void **state)
{
    static struct fixture f;
    double v;
    (void)state;
    assert_int_equal(fad_sum_value(NULL, NULL, &v), FAD_EINVAL);
    assert_int_equal(fad_sum_gradient(NULL, NULL, &v, NULL, NULL), FAD_EINVAL);
    assert_int_equal(fad_sum_terms(NULL, NULL, &v, NULL), FAD_EINVAL);
    assert_int_equal(fad_sum_leaf(NULL), 0);
    REFUSED(FAD_EINVAL, f.s.term = NULL);
    REFUSED(FAD_EINVAL, f.s.shared = NULL);
    REFUSED(FAD_EINVAL, f.s.x = NULL);
    REFUSED(FAD_EINVAL, f.s.first = N + 1);
    REFUSED(FAD_EINVAL, f.s.count = N + 1);
    REFUSED(FAD_EINVAL, (f.s.first = 2, f.s.count = SIZE_MAX));
    REFUSED(FAD_EINVAL, (f.s.first = N, f.s.count = 1));
    REFUSED(FAD_EINVAL, f.s.leaf = FAD_LEAF_MAX + 1);
    REFUSED(FAD_EINVAL, f.s.grain = SIZE_MAX);
    REFUSED(FAD_EINVAL, f.s.touch_count = 2);
    REFUSED(FAD_EINVAL, f.s.reserved[6] = 1);
    REFUSED(FAD_EINVAL, (f.s.x_offsets = f.offsets, f.s.x_blocks = f.blocks));
    REFUSED(FAD_EINVAL, (f.s.x_offsets = f.offsets, f.offsets[N] = 0, f.offsets[0] = 1));
    REFUSED(FAD_EINVAL, (f.s.x_offsets = f.offsets, f.s.x = NULL));
    set_up(&f);
    f.s.term = NULL;
    assert_int_equal(fad_sum_leaf(&f.s), 0);
    set_up(&f);
    assert_int_equal(fad_sum_value(NULL, &f.s, NULL), FAD_EINVAL);
    assert_int_equal(fad_sum_gradient(NULL, &f.s, NULL, NULL, NULL), 0);
    assert_int_equal(fad_sum_terms(NULL, &f.s, NULL, NULL), 0);
}

/* n * size that does not fit: found before anything is read. */
static void sizes_that_do_not_fit(void **state)
{
    static struct fixture f;
    (void)state;
    REFUSED(FAD_EOVERFLOW, f.s.terms = SIZE_MAX / 4);
    REFUSED(FAD_EOVERFLOW, f.s.terms = SIZE_MAX / XN + 2);
    REFUSED(FAD_EOVERFLOW, f.s.x_stride = SIZE_MAX / 2);
    REFUSED(FAD_EOVERFLOW, f.s.x_stride = SIZE_MAX / N / 4);
    REFUSED(FAD_EOVERFLOW, f.s.shared_count = SIZE_MAX / 8);
    REFUSED(FAD_EOVERFLOW, f.s.shared_count = SIZE_MAX);
    REFUSED(FAD_EOVERFLOW, f.s.y_count = SIZE_MAX / 8);
    REFUSED(FAD_EOVERFLOW, f.s.y_count = SIZE_MAX);
    REFUSED(FAD_EOVERFLOW, (f.s.touch = f.touch, f.s.touch_count = SIZE_MAX / 4));
    /* no memory address is that far: whichever of the two is found first */
    set_up(&f);
    f.s.x_blocks = f.blocks;
    f.blocks[3].count = f.blocks[5].count = SIZE_MAX / 2;
    f.blocks[3].gradient = f.blocks[5].gradient = f.x;
    double v;
    int rc = fad_sum_gradient(NULL, &f.s, &v, NULL, NULL);
    assert_true(rc == FAD_EOVERFLOW || rc == FAD_ENOMEM);
}

/* Elements that overlap have values and shared gradients; a gradient of their own numbers would be ambiguous. */
static void overlapping_elements(void **state)
{
    static struct fixture f;
    double value[Y], shared[Y * P];
    (void)state;
    set_up(&f);
    f.s.x_stride = 1;
    expect_failure(&f, FAD_EINVAL, SIZE_MAX, 0, true, "overlapping");
    assert_int_equal(fad_sum_gradient(pool_with(2), &f.s, value, shared, NULL), 0);
    double sum = 0;
    for (size_t k = 0; k < N; k++)
        sum += f.x[k];
    assert_true(fabs(shared[0] - sum) <= N * (double)UNIT * sum);
}

/* An element that is wrong in itself is reported as a failing term is: the lowest one, though others are wrong too. */
static void elements_that_are_wrong(void **state)
{
    static struct fixture f;
    (void)state;
    for (size_t bad = 0; bad < N; bad++) {
        set_up(&f);
        f.s.x_offsets = f.offsets;
        if (bad + 2 < N && bad > 0) {
            f.offsets[bad + 1] = f.offsets[bad] - 1; /* decreases, and may be made good by a jump after it */
            expect_failure(&f, FAD_EINVAL, bad, 0, false, "offsets");
            f.offsets[bad + 1] = SIZE_MAX / 2;
            expect_failure(&f, FAD_EINVAL, bad, 0, false, "a large offset");
        }
        set_up(&f);
        f.s.x_blocks = f.blocks;
        f.blocks[bad].data = f.blocks[N - 1].data = NULL;
        expect_failure(&f, FAD_EINVAL, bad, 0, false, "a block");
        set_up(&f);
        f.s.touch = f.touch;
        f.s.touch_count = 2;
        f.touch[2 * bad + bad % 2] = P;
        f.touch[2 * N - 1] = UINT32_MAX;
        expect_failure(&f, FAD_EINVAL, bad, 0, false, "touch");
        if (bad) { /* elements outside the subset do not count */
            f.s.count = bad;
            expect_success(&f);
        }
    }
}

/* ---- what terms do ---- */

enum { KEEP_OLD = 1, KEEP_RESULT, OTHER_TAPE, INNER_TAKES_OUTER, INNER_SHARED, FAIL_7, FAIL_0, FAIL_AND_RETURN,
       RETURN_NEGATIVE, INNER_FAILS, LAST_Y };

static int use_outer(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user)
{
    const fad_real *theirs = user;
    (void)x;
    y[0] = fad_mul(t, shared[0], k == 3 ? theirs[0] : fad_const(1));
    return 0;
}

static int keep_shared(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user)
{
    (void)x;
    if (k == 6) /* one writes it */
        *(fad_real *)user = shared[1];
    y[0] = fad_mul(t, shared[0], shared[1]);
    return 0;
}

static int inner_sum(struct fixture *f, fad_term *term, void *user)
{
    double value, gradient[P], at[P] = {1, 2, 3, 4, 5};
    struct fad_sum in;
    memset(&in, 0, sizeof in);
    in.terms = 7;
    in.leaf = 1;
    in.shared = at;
    in.shared_count = P;
    in.term = term;
    in.user = user;
    return fad_sum_gradient(f->pool, &in, &value, gradient, NULL);
}

static int other_tape(struct fixture *f, fad_real *x)
{
    fad_tape *t = fad_tape_create();
    if (!t)
        return FAD_ENOMEM;
    for (int i = 0; i < 600; i++) /* ids that are valid here too */
        *x = fad_input(t, 1);
    f->other = t;
    return 0;
}

static int misbehave(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user)
{
    static _Thread_local fad_real old; /* of an element that this thread has done before */
    struct fixture *f = user;
    fad_real v = fad_const(1);
    int rc = 0;
    plain(t, k, shared, x, y, user);
    if (k < f->at) {
        old = fad_add(t, fad_input(t, 1), shared[0]);
        return 0;
    }
    switch (f->mode) {
    case KEEP_OLD:
        if (old.id == 0 || old.value != 2)
            old = (fad_real){2, 513, 0x55555};
        y[0] = fad_add(t, y[0], old);
        return 0;
    case KEEP_RESULT:
        rc = other_tape(f, &y[1]);
        break;
    case OTHER_TAPE:
        rc = other_tape(f, &v);
        y[0] = fad_max(t, v, y[0]);
        break;
    case INNER_TAKES_OUTER:
        v = fad_input(t, 3);
        return inner_sum(f, use_outer, &v);
    case INNER_SHARED:
        rc = inner_sum(f, keep_shared, &v);
        y[1] = fad_mul(t, 2, v);
        break;
    case FAIL_7:
        fad_fail(t, 7);
        break;
    case FAIL_0:
        fad_fail(t, 0);
        break;
    case FAIL_AND_RETURN:
        fad_fail(t, 7);
        return 8;
    case RETURN_NEGATIVE:
        return FAD_ESTALE;
    case INNER_FAILS:
        f->inner->failure = NULL;
        return fad_sum_value(f->pool, f->inner, (double[]){0});
    case LAST_Y:
        rc = other_tape(f, &v);
        y[Y - 1] = fad_select(t, fad_lt(t, 0, 1), v, y[0]);
        break;
    }
    if (f->other)
        fad_tape_destroy(f->other);
    f->other = NULL;
    return rc;
}

static int fails_at_once(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user)
{
    (void)t, (void)shared, (void)x, (void)y, (void)user;
    return k >= 2 ? 21 + (int)k : 0;
}

/* Handles of other tapes, of earlier elements, of inner and outer sums; fad_fail; codes of nested calls. */
static void terms_that_misbehave(void **state)
{
    static const struct {
        unsigned mode;
        int status, code;
    } expected[] = {{KEEP_OLD, FAD_EHANDLE, 0},  {KEEP_RESULT, FAD_EHANDLE, 0}, {OTHER_TAPE, FAD_EHANDLE, 0},
                    {INNER_TAKES_OUTER, FAD_EHANDLE, FAD_EHANDLE}, {INNER_SHARED, FAD_EHANDLE, 0}, {FAIL_7, 7, 7},
                    {FAIL_0, FAD_EINVAL, 0}, {FAIL_AND_RETURN, 7, 7}, {RETURN_NEGATIVE, FAD_ESTALE, FAD_ESTALE},
                    {INNER_FAILS, 23, 23}, {LAST_Y, FAD_EHANDLE, 0}};
    static struct fixture f;
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        for (size_t at = 0; at < N; at += 5) {
            struct fad_sum inner;
            memset(&inner, 0, sizeof inner);
            inner.terms = 9;
            inner.leaf = 1;
            inner.term = fails_at_once;
            set_up(&f);
            f.s.term = misbehave;
            f.s.count = at + 1; /* only one does, so that f has one user */
            f.inner = &inner;
            f.mode = expected[i].mode;
            f.at = at;
            expect_failure(&f, expected[i].status, at, expected[i].code, false, "a term");
            f.mode = 0;
            expect_success(&f);
        }
}

/* A term's tape is not the term's to rewind, reverse, trace or destroy; and a value that a term forgets is NaN. */
static int tries_everything(fad_tape *t, size_t k, const fad_real *shared, const fad_real *x, fad_real *y, void *user)
{
    struct fixture *f = user;
    struct fad_mark m = fad_tape_mark(t);
    double g;
    (void)x;
    if (fad_tape_rewind(t, NULL) != FAD_EBUSY || fad_tape_rewind(t, &m) != FAD_EBUSY ||
        fad_tape_trace(t, true) != FAD_EBUSY || fad_tape_destroy(t) != FAD_EBUSY ||
        fad_tape_reverse(t, shared[0], 1, 1, shared, &g) != FAD_EBUSY || fad_tape_error(t) != 0 ||
        (f->pool && fad_pool_destroy(f->pool) != FAD_EBUSY))
        return 31;
    y[0] = fad_mul(t, shared[0], (double)k);
    return 0;
}

static void what_is_not_the_terms(void **state)
{
    static struct fixture f;
    double value[Y], shared[Y * P];
    (void)state;
    set_up(&f);
    f.s.term = tries_everything;
    f.pool = pool_with(4);
    assert_int_equal(fad_sum_gradient(f.pool, &f.s, value, shared, NULL), 0);
    assert_true(value[0] == N * (N - 1) / 2 && shared[0] == value[0]);
    uint64_t nan = UINT64_C(0x7ff8000000000000);
    assert_true(same_bits(&value[1], &nan, sizeof nan)); /* forgotten */
    for (size_t j = 0; j < P; j++)
        assert_true(is_bits(shared[P + j], 0));
}

/* ---- random sets of failing terms ---- */

/* S16: the lowest failing element and its code, always, by every call; nothing of the outputs is touched. */
static void the_lowest_failing_term(void **state)
{
    struct dice d = {16};
    unsigned failed = 0;
    (void)state;
    for (uint64_t seed = 5001; seed <= 5060; seed++) {
        struct random_sum r;
        random_sum_make(&r, seed, 200);
        struct outputs o = outputs_for(&r);
        size_t rows = r.n * r.y_count, bytes = (rows + rows * r.s.shared_count) * sizeof(double);
        double *terms = malloc(bytes + 1);
        pattern_fill(terms, bytes);
        r.nests = seed % 2;
        for (unsigned run = 0; run < 20; run++) {
            fad_pool *pool = run % 7 ? pool_with(1 + (unsigned)dice_below(&d, 16)) : NULL;
            struct fad_failure why = {0, 0, 0, NULL};
            size_t k = r.s.first;
            r.failing = 1 + dice_below(&d, 1 + 2 * r.n);
            r.failing_seed = dice_bits(&d);
            r.s.grain = dice_below(&d, 4);
            r.stalls = run % 2;
            while (k < r.s.first + r.n && !random_sum_code(&r, k))
                k++;
            if (k == r.s.first + r.n)
                continue;
            failed++;
            int rc, code = random_sum_code(&r, k);
            if (run % 3 == 0)
                rc = random_sum_value(&r, pool, o.value, &why);
            else if (run % 3 == 1)
                rc = random_sum_gradient(&r, pool, o.value, o.shared, o.x, &why);
            else
                rc = random_sum_terms(&r, pool, terms, terms + rows, &why);
            if (rc != code || why.status != code || why.code != code || why.index != k || !why.reason)
                fail_msg("sum %llu: %d at %zu, should be %d at %zu", (unsigned long long)seed, rc, why.index, code, k);
            assert_true(pattern_intact(o.value, o.bytes) && pattern_intact(terms, bytes));
        }
        free(terms);
        free(o.value);
        random_sum_free(&r);
    }
    assert_true(failed > 500);
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
        cmocka_unit_test(descriptions_that_make_no_sense), cmocka_unit_test(sizes_that_do_not_fit),
        cmocka_unit_test(overlapping_elements), cmocka_unit_test(elements_that_are_wrong),
        cmocka_unit_test(terms_that_misbehave), cmocka_unit_test(what_is_not_the_terms),
        cmocka_unit_test(the_lowest_failing_term),
    };
    return cmocka_run_group_tests(tests, NULL, end_pools);
}
