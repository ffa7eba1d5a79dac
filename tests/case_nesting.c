/* Folds and forks inside each other: what a waiting worker runs (S6), deadlocks (S9), stack (S12). */
#include "tests/sched_help.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- S6: a worker that waits in an inner fold never runs an element of the outer one ---- */

static _Thread_local unsigned inside_outer, inside_inner;
static atomic_uint unrelated;

struct outer {
    fad_pool *pool;
    size_t inner;
};

static void sum_identity(void *acc, void *user)
{
    (void)user;
    *(double *)acc = 0;
}

static void sum_combine(void *left, const void *right, void *user)
{
    (void)user;
    *(double *)left += *(const double *)right;
}

static const struct fad_monoid sums = {sizeof(double), 0, sum_identity, sum_combine};

static int inner_leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    (void)failed;
    inside_inner++;
    for (size_t i = begin; i < end; i++)
        *(double *)acc += 1.0 / (double)(i + 1 + *(size_t *)user);
    if (begin % 16 == 0)
        usleep(20);
    inside_inner--;
    return 0;
}

static int outer_leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    struct outer *o = user;
    struct fad_fold_options options = {.leaf = 4, .grain = 1};
    int rc = 0;
    (void)failed;
    if (inside_outer++)
        atomic_fetch_add(&unrelated, 1);
    for (size_t i = begin; i < end && !rc; i++) {
        double inner = 0;
        rc = fad_fold(o->pool, o->inner, &sums, inner_leaf, &i, &options, &inner);
        *(double *)acc += inner;
    }
    inside_outer--;
    return rc;
}

static void waiting_runs_nothing_unrelated(void **state)
{
    static const unsigned workers[] = {1, 2, 3, 4, 8, 16};
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    struct outer serial = {NULL, 100};
    double want = 0;
    (void)state;
    assert_int_equal(fad_fold(NULL, 100, &sums, outer_leaf, &serial, &o, &want), 0);
    for (size_t w = 0; w < COUNT(workers); w++) {
        fad_pool *pool = pool_of(workers[w]);
        struct outer parallel = {pool, 100};
        for (int i = 0; i < 20 / SLOWER + 1; i++) {
            double got = 0;
            assert_int_equal(fad_fold(pool, 100, &sums, outer_leaf, &parallel, &o, &got), 0);
            assert_memory_equal(&got, &want, sizeof got);
        }
        end_pool(pool);
    }
    assert_int_equal(unrelated, 0);
}

/* The same with a lock that is held around the inner fold: who waits inside it must not come to it again. */
struct locked {
    struct outer outer;
    pthread_mutex_t mutex;
};

static int locked_leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    struct locked *l = user;
    int rc;
    pthread_mutex_lock(&l->mutex);
    rc = outer_leaf(begin, end, acc, &l->outer, failed);
    pthread_mutex_unlock(&l->mutex);
    return rc;
}

static void lock_around_a_fold(void **state)
{
    fad_pool *pool = pool_of(4);
    struct locked l = {{pool, 60}, PTHREAD_MUTEX_INITIALIZER};
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    double want = 0, got = 0;
    (void)state;
    assert_int_equal(fad_fold(NULL, 200, &sums, locked_leaf, &l, &o, &want), 0);
    assert_int_equal(fad_fold(pool, 200, &sums, locked_leaf, &l, &o, &got), 0);
    assert_memory_equal(&got, &want, sizeof got);
    end_pool(pool);
}

/* ---- S9: folds in folds, deeper than there are workers; two pools that use each other ---- */

struct level {
    fad_pool *pool[2];
    unsigned depth, breadth;
    atomic_size_t *leaves;
};

static int one_level(size_t begin, size_t end, void *user, size_t *failed)
{
    const struct level *l = user;
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    struct level below_this = *l;
    (void)failed;
    if (l->depth == 0) {
        atomic_fetch_add(l->leaves, end - begin);
        return 0;
    }
    below_this.depth--;
    for (size_t i = begin; i < end; i++) {
        int rc = fad_for(l->pool[l->depth % 2], l->breadth, one_level, &below_this, &o);
        if (rc)
            return rc;
    }
    return 0;
}

static void deeper_than_workers(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 4; workers++) {
        fad_pool *a = pool_of(workers), *b = pool_of(3);
        for (int two = 0; two < 2; two++) {
            atomic_size_t leaves = 0;
            struct level l = {{a, two ? b : a}, 8, 3, &leaves};
            assert_int_equal(fad_for(a, 3, one_level, &l, NULL), 0);
            assert_int_equal(leaves, 3 * 6561);
        }
        end_pool(a);
        end_pool(b);
    }
}

/* Threads that enter one of two pools each and go on in the other. */
struct entry {
    struct level level;
    int rc;
};

static void *enter(void *arg)
{
    struct entry *e = arg;
    e->rc = fad_for(e->level.pool[1], 3, one_level, &e->level, NULL);
    return NULL;
}

static void two_pools_crosswise(void **state)
{
    fad_pool *a = pool_of(2), *b = pool_of(2);
    (void)state;
    for (int round = 0; round < 10 / SLOWER + 1; round++) {
        atomic_size_t leaves = 0;
        struct entry e[4];
        pthread_t thread[COUNT(e)];
        for (size_t i = 0; i < COUNT(e); i++) {
            e[i] = (struct entry){{{i % 2 ? a : b, i % 2 ? b : a}, 5, 3, &leaves}, -1};
            assert_int_equal(pthread_create(&thread[i], NULL, enter, &e[i]), 0);
        }
        for (size_t i = 0; i < COUNT(e); i++) {
            pthread_join(thread[i], NULL);
            assert_int_equal(e[i].rc, 0);
        }
        assert_int_equal(leaves, 4 * 729);
    }
    end_pool(a);
    end_pool(b);
}

/* ---- S12: stack ---- */

/* A tree where one child is small and the other is nearly everything, 400 deep, again and again: 2 M nodes. */
struct branch {
    uint64_t seed;
    unsigned depth;
    size_t nodes;
};

static int grow_tree(fad_worker *w, void *arg)
{
    struct branch *b = arg;
    struct branch small = {b->seed * 3 + 1, 0, 0}, large = {b->seed * 5 + 2, 0, 0};
    fad_task t;
    b->nodes = 1;
    if (b->depth == 0)
        return 0;
    small.depth = b->depth % 40 == 0 ? b->depth / 2 : b->depth % 13;
    large.depth = b->depth - 1;
    if (small.depth >= b->depth)
        small.depth = b->depth - 1;
    fad_fork(w, &t, grow_tree, b->seed & 4 ? &small : &large);
    grow_tree(w, b->seed & 4 ? &large : &small);
    fad_join(w, &t);
    b->nodes = 1 + small.nodes + large.nodes;
    return 0;
}

static void unbalanced_tree(void **state)
{
    struct branch serial = {1, 400, 0};
    (void)state;
    assert_int_equal(fad_pool_run(NULL, grow_tree, &serial), 0);
    assert_true(serial.nodes > 2000000);
    for (unsigned workers = 2; workers <= 16; workers *= 2) {
        struct fad_pool_options o = {.workers = workers, .stack_bytes = SLOWER > 1 ? 1 << 20 : 256 << 10};
        fad_pool *pool = NULL;
        assert_int_equal(fad_pool_create(&pool, &o), 0);
        for (int i = 0; i < 2; i++) {
            struct branch b = {1, 400, 0};
            assert_int_equal(fad_pool_run(pool, grow_tree, &b), 0);
            assert_int_equal(b.nodes, serial.nodes);
        }
        end_pool(pool);
    }
}

/* Folds nested deeper and deeper on a worker's stack: all is well, or FAD_ESTACK comes back through all levels. */
struct deep {
    fad_pool *pool;
    unsigned depth;
    atomic_uint *deepest;
};

static int go_deeper(size_t begin, size_t end, void *user, size_t *failed)
{
    const struct deep *d = user;
    struct deep next = {d->pool, d->depth - 1, d->deepest};
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    (void)end;
    (void)failed;
    if (d->depth == 0 || begin % 2 == 0) {
        if (d->depth == 0)
            atomic_fetch_add(d->deepest, 1);
        else
            usleep(1);
        return 0;
    }
    return fad_for(d->pool, 2, go_deeper, &next, &o);
}

static void thousand_levels(void **state)
{
    (void)state;
    for (unsigned workers = 0; workers <= 4; workers += 2) {
        fad_pool *pool = workers ? pool_of(workers) : NULL;
        for (int i = 0; i < 5; i++) {
            atomic_uint deepest = 0;
            struct deep d = {pool, 1000, &deepest};
            assert_int_equal(fad_for(pool, 2, go_deeper, &d, NULL), 0);
            assert_int_equal(deepest, 2);
        }
        end_pool(pool);
    }
}

static void *too_deep(void *arg)
{
    struct deep *d = arg;
    struct fad_failure f = {0};
    struct fad_fold_options o = {.leaf = 1, .grain = 1, .failure = &f};
    int rc = fad_for(d->pool, 2, go_deeper, d, &o);
    if (rc != FAD_ESTACK || f.status != FAD_ESTACK || f.index != 1)
        return NULL;
    d->depth = 3;
    return fad_for(d->pool, 2, go_deeper, d, &o) == FAD_OK ? arg : NULL;
}

/* On 256 KiB a million levels are refused in time, and the next call works. */
static void refused_in_time(void **state)
{
    pthread_attr_t small;
    (void)state;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    for (unsigned workers = 0; workers <= 4; workers += 2) {
        struct fad_pool_options o = {.workers = workers, .stack_bytes = 256 << 10};
        fad_pool *pool = NULL;
        if (workers)
            assert_int_equal(fad_pool_create(&pool, &o), 0);
        for (int i = 0; i < 5; i++) {
            atomic_uint deepest = 0;
            struct deep d = {pool, 1000000, &deepest};
            pthread_t thread;
            void *well = NULL;
            assert_int_equal(pthread_create(&thread, &small, too_deep, &d), 0);
            pthread_join(thread, &well);
            assert_non_null(well);
        }
        end_pool(pool);
    }
    pthread_attr_destroy(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_runs_nothing_unrelated),
        cmocka_unit_test(lock_around_a_fold),
        cmocka_unit_test(deeper_than_workers),
        cmocka_unit_test(two_pools_crosswise),
        cmocka_unit_test(unbalanced_tree),
        cmocka_unit_test(thousand_levels),
        cmocka_unit_test(refused_in_time),
    };
    watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
