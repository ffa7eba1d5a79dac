/* Every allocation of the scheduler fails in turn: an error or success, never a crash or a leak, outputs untouched, and
 * the pool works afterwards. And: once calls have settled they allocate nothing. */
#include "tests/sched_help.h"

#include <stdatomic.h>

/* ---- counting and failing; from any thread ---- */

static atomic_long live, made, countdown; /* countdown 0: nothing fails */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void __wrap_free(void *p);

static bool refused(void)
{
    atomic_fetch_add(&made, 1);
    return atomic_load(&countdown) > 0 && atomic_fetch_sub(&countdown, 1) == 1;
}

static void *counted(void *p)
{
    if (p)
        atomic_fetch_add(&live, 1);
    return p;
}

void *__wrap_malloc(size_t size)
{
    return refused() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return refused() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t size)
{
    void *q = refused() ? NULL : __real_realloc(p, size);
    return p ? q : counted(q);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
    return refused() ? NULL : counted(__real_aligned_alloc(align, size));
}

void __wrap_free(void *p)
{
    if (p)
        atomic_fetch_sub(&live, 1);
    __real_free(p);
}

/* ---- folds of numbers, with accumulators of any size ---- */

static void identity(void *acc, void *user)
{
    memset(acc, 0, *(size_t *)user);
}

static void combine(void *left, const void *right, void *user)
{
    (void)user;
    *(size_t *)left += *(const size_t *)right;
}

static int leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    (void)user;
    (void)failed;
    *(size_t *)acc += end - begin;
    if (begin % 16 == 0) /* lets other workers come in, so that they allocate too */
        usleep(10);
    return 0;
}

static int sum(fad_pool *pool, size_t n, size_t size, void *result)
{
    struct fad_monoid m = {size, 0, identity, combine};
    struct fad_failure f = {0};
    struct fad_fold_options o = {.leaf = 1, .grain = 1, .failure = &f};
    int rc = fad_fold(pool, n, &m, leaf, &size, &o, result);
    assert_int_equal(f.status, rc);
    if (rc) { /* no element and no callback is to blame */
        assert_true(f.index == SIZE_MAX);
        assert_int_equal(f.code, 0);
    }
    return rc;
}

static void expect_works(fad_pool *pool)
{
    size_t total = 0;
    assert_int_equal(sum(pool, 100, sizeof total, &total), FAD_OK);
    assert_int_equal(total, 100);
}

static void creation(void **state)
{
    long before = live, n;
    (void)state;
    for (n = 1;; n++) {
        struct fad_pool_options o = {.workers = 3};
        fad_pool *pool = (fad_pool *)&n;
        int rc;
        countdown = n;
        rc = fad_pool_create(&pool, &o);
        if (countdown > 0) {
            countdown = 0;
            assert_int_equal(rc, FAD_OK);
            expect_works(pool);
            end_pool(pool);
            break;
        }
        assert_int_equal(rc, FAD_ENOMEM);
        assert_ptr_equal(pool, &n);
        assert_int_equal(live, before);
    }
    assert_true(n > 60);
    assert_int_equal(live, before);
}

/* A new pool each time, so that nothing has settled; size makes each piece need memory of its own. */
static void one_fold(unsigned workers, size_t size)
{
    static unsigned char result[100000];
    long before = live;
    unsigned errors = 0, n;
    for (n = 1; n < 400; n++) {
        fad_pool *pool = workers ? pool_of(workers) : NULL;
        size_t total = 0;
        bool used;
        int rc;
        memset(result, 0xaa, sizeof result);
        countdown = n;
        rc = sum(pool, 200, size, result);
        used = countdown <= 0;
        countdown = 0;
        assert_true(rc == FAD_OK || (rc == FAD_ENOMEM && used));
        errors += rc != FAD_OK;
        for (size_t i = 0; rc && i < sizeof result; i++)
            assert_int_equal(result[i], 0xaa);
        memcpy(&total, result, sizeof total);
        assert_true(rc || total == 200);
        expect_works(pool);
        end_pool(pool);
        assert_int_equal(live, before);
        if (!used)
            break;
    }
    assert_true(errors > 0);
    assert_true(n < 400);
}

static void folds(void **state)
{
    (void)state;
    for (unsigned workers = 0; workers <= 4; workers += 2)
        for (size_t size = 8; size <= 100000; size = size * 24 + 8)
            one_fold(workers, size);
}

/* ---- growth of a deque: what finds no place is run by its join ---- */

static int one(fad_worker *w, void *arg)
{
    (void)w;
    atomic_fetch_add((atomic_size_t *)arg, 1);
    return 0;
}

static int burst(fad_worker *w, void *arg)
{
    static fad_task task[5000];
    for (size_t i = 0; i < COUNT(task); i++)
        fad_fork(w, &task[i], one, arg);
    for (size_t i = COUNT(task); i-- > 0;)
        fad_join(w, &task[i]);
    return 0;
}

static void growth(void **state)
{
    long before = live;
    (void)state;
    for (unsigned workers = 1; workers <= 3; workers += 2)
        for (long n = 1; n < 12; n++) {
            fad_pool *pool = pool_of(workers);
            atomic_size_t ran = 0;
            countdown = n;
            assert_int_equal(fad_pool_run(pool, burst, &ran), 0);
            countdown = 0;
            assert_int_equal(ran, 5000);
            expect_works(pool);
            end_pool(pool);
            assert_int_equal(live, before);
        }
}

/* No memory whatever: folds fail or work, forks work. */
static void nothing_left(void **state)
{
    fad_pool *pool = pool_of(3);
    (void)state;
    for (int i = 0; i < 200; i++) {
        size_t total = 7;
        atomic_size_t ran = 0;
        int rc;
        countdown = 1 + i % 3;
        rc = sum(pool, 64, sizeof total, &total);
        countdown = 0;
        assert_true(rc == FAD_OK ? total == 64 : rc == FAD_ENOMEM && total == 7);
        countdown = 1;
        assert_int_equal(fad_pool_run(pool, burst, &ran), 0);
        countdown = 0;
        assert_int_equal(ran, 5000);
    }
    end_pool(pool);
}

/* What the header promises: no allocation after the first calls, unless accumulators grow. One worker, so that it is the
 * same slot every time; sizes that fit the first chunk, that do not, and where result and piece need different ones. */
static void calls_settle(void **state)
{
    static unsigned char result[100000];
    static const size_t sizes[] = {8, 200, 1000, 2000, 4096, 10000, 100000};
    (void)state;
    for (size_t s = 0; s < COUNT(sizes); s++) {
        fad_pool *pool = pool_of(1);
        long before;
        for (int i = 0; i < 5; i++)
            assert_int_equal(sum(pool, 100, sizes[s], result), FAD_OK);
        before = made;
        for (int i = 0; i < 20; i++)
            assert_int_equal(sum(pool, 100, sizes[s], result), FAD_OK);
        assert_int_equal(made, before);
        end_pool(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creation), cmocka_unit_test(folds),        cmocka_unit_test(growth),
        cmocka_unit_test(nothing_left), cmocka_unit_test(calls_settle),
    };
    watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
