/* Folds that fail: arguments, and elements. */
#include "tests/sched_help.h"

#include <stdatomic.h>

struct count {
    size_t made, elements;
};

static void identity(void *acc, void *user)
{
    (void)user;
    *(struct count *)acc = (struct count){1, 0};
}

static void combine(void *left, const void *right, void *user)
{
    struct count *l = left;
    const struct count *r = right;
    (void)user;
    l->made += r->made;
    l->elements += r->elements;
}

static const struct fad_monoid counts = {sizeof(struct count), 0, identity, combine};

/* Which elements fail, and with what: by a bitmap, so that each round has its own set. */
struct plan {
    const unsigned char *fails; /* 0: no, else the code */
    size_t first;
    unsigned stalls;
    atomic_size_t ran;
};

static int leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    struct plan *p = user;
    if (*failed != begin)
        abort();
    for (size_t i = begin; i < end; i++) {
        atomic_fetch_add_explicit(&p->ran, 1, memory_order_relaxed);
        if (p->stalls && i % 64 == 3) /* lets other workers come in */
            usleep(p->stalls);
        if (p->fails[i - p->first]) {
            *failed = i;
            return p->fails[i - p->first];
        }
        ((struct count *)acc)->elements++;
    }
    return 0;
}

static int body(size_t begin, size_t end, void *user, size_t *failed)
{
    struct count c;
    return leaf(begin, end, &c, user, failed);
}

/* ---- arguments ---- */

static void expect_refused(const struct fad_monoid *m, fad_leaf *l, size_t n, struct fad_fold_options o, void *result,
                           int status)
{
    struct fad_failure f = {1, 2, 3, NULL};
    o.failure = &f;
    assert_int_equal(fad_fold(NULL, n, m, l, NULL, &o, result), status);
    assert_int_equal(f.status, status);
    assert_true(f.index == SIZE_MAX);
    assert_int_equal(f.code, 0);
    assert_non_null(f.reason);
    o.failure = NULL;
    assert_int_equal(fad_fold(NULL, n, m, l, NULL, &o, result), status);
}

static void arguments(void **state)
{
    struct count c = {7, 7};
    struct fad_monoid no_identity = counts, no_combine = counts, odd = counts, wide = counts, huge = counts;
    struct fad_fold_options none = {0}, reserved = {.reserved = {0, 0, 0, 1}};
    (void)state;
    no_identity.identity = NULL;
    no_combine.combine = NULL;
    odd.align = 24;
    wide.align = 256;
    huge.size = SIZE_MAX;
    expect_refused(NULL, leaf, 1, none, &c, FAD_EINVAL);
    expect_refused(&counts, NULL, 1, none, &c, FAD_EINVAL);
    expect_refused(&counts, leaf, 1, none, NULL, FAD_EINVAL);
    expect_refused(&no_identity, leaf, 1, none, &c, FAD_EINVAL);
    expect_refused(&no_combine, leaf, 1, none, &c, FAD_EINVAL);
    expect_refused(&odd, leaf, 1, none, &c, FAD_EINVAL);
    expect_refused(&wide, leaf, 1, none, &c, FAD_EINVAL);
    expect_refused(&counts, leaf, 1, reserved, &c, FAD_EINVAL);
    expect_refused(&counts, leaf, 1, (struct fad_fold_options){.leaf = FAD_LEAF_MAX + 1}, &c, FAD_EINVAL);
    expect_refused(&counts, leaf, 1, (struct fad_fold_options){.grain = FAD_LEAF_MAX + 1}, &c, FAD_EINVAL);
    expect_refused(&huge, leaf, 1, none, &c, FAD_EOVERFLOW);
    expect_refused(&counts, leaf, SIZE_MAX, none, &c, FAD_EOVERFLOW);
    expect_refused(&counts, leaf, SIZE_MAX, (struct fad_fold_options){.first = 5}, &c, FAD_EOVERFLOW);
    expect_refused(&counts, leaf, 5, (struct fad_fold_options){.first = SIZE_MAX - 5}, &c, FAD_EOVERFLOW);
    assert_int_equal(fad_for(NULL, 1, NULL, NULL, NULL), FAD_EINVAL);
    assert_true(c.made == 7 && c.elements == 7);
}

static void largest_index_is_allowed(void **state)
{
    unsigned char fails[4] = {0, 0, 0, 9};
    struct fad_failure f;
    struct fad_fold_options o = {.leaf = FAD_LEAF_MAX, .grain = FAD_LEAF_MAX, .first = SIZE_MAX - 5, .failure = &f};
    struct plan p = {fails, o.first, 0, 0};
    struct count c;
    (void)state;
    assert_int_equal(fad_fold(NULL, 4, &counts, leaf, &p, &o, &c), 9);
    assert_true(f.index == SIZE_MAX - 2);
    fails[3] = 0;
    assert_int_equal(fad_fold(NULL, 4, &counts, leaf, &p, &o, &c), 0);
    assert_int_equal(c.elements, 4);
}

/* A leaf that names no element of its own is taken to mean its first; codes keep their sign. */
static int strange(size_t begin, size_t end, void *user, size_t *failed)
{
    *failed = begin == 10 ? end + 5 : SIZE_MAX;
    return begin >= 10 ? *(int *)user : 0;
}

static void failed_out_of_range(void **state)
{
    static const int codes[] = {1, 255, 0x7fffffff, FAD_ENOMEM, FAD_ESTALE, -1000};
    struct fad_failure f;
    struct fad_fold_options o = {.leaf = 5, .failure = &f};
    (void)state;
    for (size_t i = 0; i < COUNT(codes); i++) {
        int code = codes[i];
        assert_int_equal(fad_for(NULL, 30, strange, &code, &o), code);
        assert_int_equal(f.status, code);
        assert_int_equal(f.index, 10);
        assert_int_equal(f.code, code);
        assert_non_null(f.reason);
    }
}

/* No failure: the struct is not touched. */
static void success_leaves_failure(void **state)
{
    unsigned char fails[10] = {0};
    struct fad_failure f = {42, 43, 44, "untouched"};
    struct fad_fold_options o = {.failure = &f};
    struct plan p = {fails, 0, 0, 0};
    (void)state;
    assert_int_equal(fad_for(NULL, 10, body, &p, &o), 0);
    assert_true(f.status == 42 && f.index == 43 && f.code == 44);
    assert_string_equal(f.reason, "untouched");
}

/* ---- S16: random sets of failing elements ---- */

#define MOST 600

static void one_set(fad_pool *pool, uint64_t *seed)
{
    unsigned char fails[MOST] = {0};
    size_t n = 1 + below(seed, MOST), failing = below(seed, 6), lowest = n;
    struct fad_failure f = {0};
    struct fad_fold_options o = {.leaf = 1 + below(seed, 20), .grain = below(seed, 3),
                                 .first = below(seed, 9), .failure = &f};
    struct plan p = {fails, o.first, below(seed, 8) ? 0 : 20, 0};
    struct count c = {99, 99};
    int rc;
    for (size_t i = 0; i < failing; i++)
        fails[below(seed, n)] = (unsigned char)(1 + below(seed, 255));
    for (size_t i = n; i-- > 0;)
        lowest = fails[i] ? i : lowest;
    rc = fad_fold(pool, n, &counts, leaf, &p, &o, &c);
    if (lowest == n) {
        assert_int_equal(rc, 0);
        assert_int_equal(c.made, (n - 1) / o.leaf + 1); /* S17: one identity a leaf, each in the total once */
        assert_int_equal(c.elements, n);
    } else {
        assert_int_equal(rc, fails[lowest]);
        assert_int_equal(f.status, rc);
        assert_int_equal(f.code, rc);
        assert_int_equal(f.index, o.first + lowest);
        assert_true(c.made == 99 && c.elements == 99);
        assert_true(p.ran > lowest);
    }
    assert_true(p.ran <= n);
}

static void lowest_failure_wins(void **state)
{
    static const unsigned workers[] = {1, 2, 3, 4, 8, 16};
    uint64_t seed = 5;
    (void)state;
    for (size_t w = 0; w < COUNT(workers); w++) {
        fad_pool *pool = pool_of(workers[w]);
        for (int i = 0; i < 10000 / SLOWER; i++)
            one_set(pool, &seed);
        end_pool(pool);
    }
}

/* A failure at the start cancels most of the rest. */
static void rest_is_cancelled(void **state)
{
    static unsigned char fails[100000];
    fad_pool *pool = pool_of(4);
    struct fad_fold_options o = {.leaf = 10};
    struct plan p = {fails, 0, 0, 0};
    (void)state;
    fails[17] = 3;
    for (int i = 0; i < 20; i++) {
        p.ran = 0;
        assert_int_equal(fad_for(i % 2 ? pool : NULL, sizeof fails, body, &p, &o), 3);
        if (i % 2 == 0)
            assert_int_equal(p.ran, 18);
    }
    end_pool(pool);
}

/* S16: the failing fold is nested in a leaf, whose code comes from it. */
struct outer {
    fad_pool *pool;
    struct plan inner;
};

static int nested(size_t begin, size_t end, void *user, size_t *failed)
{
    struct outer *o = user;
    struct fad_fold_options options = {.leaf = 1, .grain = 1};
    for (size_t i = begin; i < end; i++) {
        int rc = fad_for(o->pool, i, body, &o->inner, &options);
        if (rc) {
            *failed = i;
            return rc + 1;
        }
    }
    return 0;
}

static void nested_failure(void **state)
{
    static unsigned char fails[100];
    fad_pool *pool = pool_of(4);
    struct fad_failure f;
    struct fad_fold_options options = {.leaf = 1, .grain = 1, .failure = &f};
    struct outer o = {pool, {fails, 0, 0, 0}};
    (void)state;
    fails[20] = 5;
    fails[40] = 6;
    for (int i = 0; i < 300 / SLOWER; i++) {
        assert_int_equal(fad_for(pool, 90, nested, &o, &options), 6);
        assert_int_equal(f.index, 21);
    }
    assert_int_equal(fad_for(pool, 20, nested, &o, &options), 0);
    end_pool(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments),           cmocka_unit_test(largest_index_is_allowed),
        cmocka_unit_test(failed_out_of_range), cmocka_unit_test(success_leaves_failure),
        cmocka_unit_test(lowest_failure_wins), cmocka_unit_test(rest_is_cancelled),
        cmocka_unit_test(nested_failure),
    };
    watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
