/* S10: fork() before, between and inside calls. */
#include "tests/sched_help.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>

#define N 400

static double x[5000];

static double total(fad_pool *pool)
{
    double sum = -1;
    return fad_sum_array(pool, x, COUNT(x), &sum) ? -2 : sum;
}

static int add(size_t begin, size_t end, void *user, size_t *failed)
{
    (void)failed;
    for (size_t i = begin; i < end; i++)
        atomic_fetch_add((atomic_size_t *)user, i);
    if (begin % 64 == 0) /* lets other workers come in */
        usleep(20);
    return 0;
}

static bool works(fad_pool *pool, double want)
{
    struct fad_fold_options o = {.leaf = 4, .grain = 1};
    atomic_size_t sum = 0;
    return fad_for(pool, N, add, &sum, &o) == 0 && sum == (size_t)N * (N - 1) / 2 && total(pool) == want;
}

/* The child reports by its exit code, 0 for all well, and is killed by the alarm if it hangs. */
static void expect_child(pid_t child)
{
    int status;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void child_ends(bool well)
{
    _exit(well ? 0 : 1);
}

static void between_calls(void **state)
{
    (void)state;
    for (unsigned workers = 1; workers <= 4; workers += 3) {
        fad_pool *pool = pool_of(workers);
        double want = total(NULL);
        for (int i = 0; i < 100 / SLOWER; i++) {
            pid_t child;
            assert_true(works(pool, want));
            if ((child = fork()) == 0) {
                watchdog();
                child_ends(works(pool, want) && fad_pool_workers(pool) == workers && works(pool, want) &&
                           fad_pool_destroy(pool) == FAD_OK);
            }
            assert_true(works(pool, want));
            expect_child(child);
        }
        end_pool(pool);
    }
}

/* A child of a child; and a pool that is made, or only destroyed, there. */
static void generations(void **state)
{
    fad_pool *pool = pool_of(4), *other;
    double want = total(NULL);
    pid_t child;
    (void)state;
    assert_true(works(pool, want));
    if ((child = fork()) == 0) {
        pid_t grandchild;
        watchdog();
        if ((grandchild = fork()) == 0) {
            watchdog();
            other = pool_of(3);
            child_ends(works(pool, want) && works(other, want) && fad_pool_destroy(other) == FAD_OK);
        }
        expect_child(grandchild);
        child_ends(fad_pool_destroy(pool) == FAD_OK);
    }
    expect_child(child);
    assert_true(works(pool, want));
    end_pool(pool);
}

/* ---- fork inside a callback, on the calling thread ---- */

struct inside {
    fad_pool *pool;
    pthread_t caller;
    size_t at;
    int code;
    atomic_bool forked;
    bool child;
    pid_t pid;
};

static int fork_there(size_t begin, size_t end, void *user, size_t *failed)
{
    struct inside *s = user;
    (void)end;
    (void)failed;
    if (begin % 8 == 0)
        usleep(20);
    if (begin < s->at || !pthread_equal(pthread_self(), s->caller) || atomic_exchange(&s->forked, true))
        return s->forked ? s->code : 0;
    s->pid = fork();
    if (s->pid == 0) {
        watchdog();
        s->child = true;
        if (s->pool && !works(s->pool, total(NULL))) /* a call inside the call that will fail */
            _exit(2);
    }
    return s->code;
}

static void one_inside(fad_pool *pool, size_t at, int code)
{
    struct fad_failure f = {0};
    struct fad_fold_options o = {.leaf = 1, .grain = 1, .failure = &f};
    struct inside s = {.pool = pool, .caller = pthread_self(), .at = at, .code = code};
    double want = total(NULL);
    int rc = fad_for(pool, 400, fork_there, &s, &o);
    if (s.child) {
        bool told = rc == (pool ? FAD_EFORKED : code);
        if (pool)
            told &= f.status == FAD_EFORKED && f.index == SIZE_MAX && f.code == 0;
        child_ends(told && works(pool, want) && fad_pool_destroy(pool) == FAD_OK);
    }
    if (s.forked)
        expect_child(s.pid);
    assert_int_equal(rc, s.forked ? code : 0);
    assert_true(works(pool, want));
}

static void in_a_callback(void **state)
{
    (void)state;
    for (unsigned workers = 0; workers <= 4; workers += workers ? 3 : 1) {
        fad_pool *pool = workers ? pool_of(workers) : NULL;
        for (int i = 0; i < 40 / SLOWER; i++)
            one_inside(pool, (size_t)i % 7, i % 2 ? 0 : 5);
        end_pool(pool);
    }
}

static int nothing(fad_worker *w, void *arg)
{
    (void)w;
    (void)arg;
    usleep(200);
    return 0;
}

struct in_body {
    bool child;
    pid_t pid;
};

/* Some of the tasks are with threads that the child does not have. */
static int fork_in_body(fad_worker *w, void *arg)
{
    struct in_body *b = arg;
    fad_task t[8];
    for (size_t i = 0; i < COUNT(t); i++)
        fad_fork(w, &t[i], nothing, NULL);
    usleep(100);
    if ((b->pid = fork()) == 0) {
        watchdog();
        b->child = true;
    }
    for (size_t i = COUNT(t); i-- > 0;) {
        int rc = fad_join(w, &t[i]);
        if (rc && (!b->child || rc != FAD_EFORKED))
            return 1;
    }
    return 0;
}

static void in_a_body(void **state)
{
    fad_pool *pool = pool_of(4);
    (void)state;
    for (int i = 0; i < 50 / SLOWER; i++) {
        struct in_body b = {false, -1};
        int rc = fad_pool_run(pool, fork_in_body, &b);
        if (b.child)
            child_ends(rc == FAD_EFORKED && works(pool, total(NULL)));
        expect_child(b.pid);
        assert_int_equal(rc, 0);
    }
    end_pool(pool);
}

/* ---- fork while other threads are at work ---- */

struct other {
    fad_pool *pool;
    double want;
    atomic_bool stop;
    bool well;
};

static void *work(void *arg)
{
    struct other *o = arg;
    o->well = true;
    while (!o->stop)
        o->well &= works(o->pool, o->want);
    return NULL;
}

/* Includes pools that are made and destroyed at that moment. */
static void *make_pools(void *arg)
{
    struct other *o = arg;
    o->well = true;
    while (!o->stop) {
        fad_pool *pool = pool_of(3);
        o->well &= works(pool, o->want);
        end_pool(pool);
    }
    return NULL;
}

static void while_others_work(void **state)
{
    fad_pool *pool = pool_of(3);
    double want = total(NULL);
    struct other a = {.pool = pool, .want = want}, b = {.pool = pool, .want = want};
    pthread_t thread[2];
    (void)state;
    pthread_create(&thread[0], NULL, work, &a);
    pthread_create(&thread[1], NULL, make_pools, &b);
    for (int i = 0; i < 60 / SLOWER; i++) {
        pid_t child = fork();
        if (child == 0) {
            watchdog();
            child_ends(works(pool, want));
        }
        expect_child(child);
    }
    a.stop = b.stop = true;
    pthread_join(thread[0], NULL);
    pthread_join(thread[1], NULL);
    assert_true(a.well && b.well);
    end_pool(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_calls), cmocka_unit_test(generations),       cmocka_unit_test(in_a_callback),
        cmocka_unit_test(in_a_body),     cmocka_unit_test(while_others_work),
    };
#ifdef THREAD_SANITIZER
    puts("ThreadSanitizer starts no threads in the child of a fork");
    return 77;
#endif
    if (emulated()) {
        puts("skipped under an emulator: it starts no threads in the child of a fork");
        return 77;
    }
    for (size_t i = 0; i < COUNT(x); i++)
        x[i] = 1.0 / (double)(i + 1);
    watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
