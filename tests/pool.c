/* Pools: options, who may destroy them, callers, fork / reclaim / join in any order, what threads inherit. */
#include "tests/sched_help.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "sched/worker.h"

/* ---- options ---- */

static void options(void **state)
{
    fad_pool *pool = (fad_pool *)state, *const untouched = pool;
    struct fad_pool_options good[] = {
        {.workers = 1}, {.workers = 3, .spin_us = FAD_SPIN_NONE}, {.workers = 2, .spin_us = 1, .stack_bytes = 262144},
        {.workers = 2, .spin_us = 0xfffffffe},
    };
    struct fad_pool_options bad[] = {
        {.workers = FAD_WORKERS_MAX + 1}, {.workers = 0xffffffff}, {.stack_bytes = 1}, {.stack_bytes = 4096},
        {.reserved = {1}}, {.reserved = {0, 0, 0, 1}},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(fad_pool_create(&pool, &bad[i]), FAD_EINVAL);
        assert_ptr_equal(pool, untouched);
    }
    assert_int_equal(fad_pool_create(NULL, NULL), FAD_EINVAL);
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_int_equal(fad_pool_create(&pool, &good[i]), FAD_OK);
        assert_int_equal(fad_pool_workers(pool), good[i].workers);
        assert_int_equal(fad_pool_destroy(pool), FAD_OK);
    }
}

static void environment(void **state)
{
    static const char *const bad[] = {"0", "-1", "x", "4x", "1.5", "1025", "99999999999999999999",
                                      "-99999999999999999999", "4 ", "0x4"};
    struct fad_pool_options three = {.workers = 3};
    fad_pool *pool = NULL;
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        setenv("FAD_WORKERS", bad[i], 1);
        assert_int_equal(fad_pool_create(&pool, NULL), FAD_EINVAL);
        assert_null(pool);
    }
    assert_int_equal(fad_pool_create(&pool, &three), FAD_OK); /* asks nobody */
    assert_int_equal(fad_pool_workers(pool), 3);
    end_pool(pool);
    setenv("FAD_WORKERS", "5", 1);
    assert_int_equal(fad_pool_create(&pool, NULL), FAD_OK);
    assert_int_equal(fad_pool_workers(pool), 5);
    end_pool(pool);
    setenv("FAD_WORKERS", "", 1);
    assert_int_equal(fad_pool_create(&pool, NULL), FAD_OK);
    end_pool(pool);
    unsetenv("FAD_WORKERS");
}

static int add_one(fad_worker *w, void *arg)
{
    (void)w;
    ++*(int *)arg;
    return 17;
}

static void null_pool(void **state)
{
    int ran = 0;
    (void)state;
    assert_int_equal(fad_pool_workers(NULL), 1);
    assert_int_equal(fad_pool_destroy(NULL), FAD_OK);
    assert_int_equal(fad_pool_run(NULL, NULL, NULL), FAD_EINVAL);
    assert_int_equal(fad_pool_run(NULL, add_one, &ran), 17);
    assert_int_equal(ran, 1);
}

/* ---- fork, reclaim, join ---- */

#define TASKS 300

struct order {
    uint64_t seed;
    size_t tasks;
    bool nested;
};

struct one {
    fad_task task;
    atomic_int ran;
    int id;
    bool nested;
};

static int run_one(fad_worker *w, void *arg)
{
    struct one *o = arg;
    atomic_fetch_add(&o->ran, 1);
    if (o->nested) {
        struct one a = {.id = 1}, b = {.id = 2};
        fad_fork(w, &a.task, run_one, &a);
        fad_fork(w, &b.task, run_one, &b);
        if (fad_join(w, &a.task) != 1 || fad_join(w, &b.task) != 2 || a.ran != 1 || b.ran != 1)
            abort();
    }
    if (o->id % 32 == 3) /* lets other workers come in */
        usleep(10);
    return o->id;
}

static int join_one(fad_worker *w, struct one *o, bool reclaim)
{
    if (!reclaim)
        return fad_join(w, &o->task);
    return fad_reclaim(w, &o->task) ? run_one(w, o) : o->task.status;
}

/* Forks and joins mixed, in an order that has nothing to do with that of the forks. */
static int any_order(fad_worker *w, void *arg)
{
    struct order *r = arg;
    static _Thread_local struct one storage[TASKS];
    struct one *o = storage;
    size_t open[TASKS], opened = 0, forked = 0;
    while (forked < r->tasks || opened) {
        if (forked < r->tasks && (opened == 0 || below(&r->seed, 3))) {
            memset(&o[forked], 0, sizeof o[forked]);
            o[forked].id = (int)forked + 1;
            o[forked].nested = r->nested;
            fad_fork(w, &o[forked].task, run_one, &o[forked]);
            open[opened++] = forked++;
        } else {
            size_t k = below(&r->seed, opened), i = open[k];
            open[k] = open[--opened];
            if (join_one(w, &o[i], below(&r->seed, 2)) != o[i].id)
                return -100;
        }
    }
    for (size_t i = 0; i < r->tasks; i++)
        if (o[i].ran != 1)
            return -200;
    return 0;
}

static void join_in_any_order(void **state)
{
    static const unsigned workers[] = {0, 1, 2, 4, 16};
    (void)state;
    for (size_t p = 0; p < COUNT(workers); p++) {
        fad_pool *pool = workers[p] ? pool_of(workers[p]) : NULL;
        for (int i = 0; i < 200 / SLOWER; i++) {
            struct order r = {(uint64_t)i, 1 + (size_t)i % TASKS, i % 2};
            assert_int_equal(fad_pool_run(pool, any_order, &r), 0);
        }
        end_pool(pool);
    }
}

/* More tasks than the largest deque holds: those without a place are run by their joins. */
static int too_many(fad_worker *w, void *arg)
{
    size_t n = *(size_t *)arg;
    struct one *o = calloc(n, sizeof *o);
    int bad = o == NULL;
    for (size_t i = 0; o && i < n; i++) {
        o[i].id = 1 + (int)(i % 1000) * 32; /* all but a few are short */
        o[i].id += i % 500 == 0 ? 2 : 0;
        fad_fork(w, &o[i].task, run_one, &o[i]);
    }
    for (size_t i = o ? n : 0; i-- > 0;)
        bad += fad_join(w, &o[i].task) != o[i].id || o[i].ran != 1;
    free(o);
    return bad;
}

static void more_than_a_deque_holds(void **state)
{
    size_t n = 100000;
    (void)state;
    for (unsigned workers = 1; workers <= 4; workers++) {
        fad_pool *pool = pool_of(workers);
        assert_int_equal(fad_pool_run(pool, too_many, &n), 0);
        assert_int_equal(fad_pool_run(pool, too_many, &n), 0);
        end_pool(pool);
    }
    assert_int_equal(fad_pool_run(NULL, too_many, &n), 0);
}

/* ---- who may destroy ---- */

static int destroy_inside(size_t begin, size_t end, void *user, size_t *failed)
{
    (void)end;
    (void)failed;
    if (begin % 16 == 0)
        usleep(100);
    return fad_pool_destroy(user) == FAD_EBUSY ? 0 : 1;
}

static int destroy_in_body(fad_worker *w, void *arg)
{
    (void)w;
    return fad_pool_destroy(arg);
}

static void busy(void **state)
{
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    (void)state;
    for (unsigned workers = 1; workers <= 4; workers += 3) {
        fad_pool *pool = pool_of(workers);
        assert_int_equal(fad_pool_run(pool, destroy_in_body, pool), FAD_EBUSY);
        assert_int_equal(fad_for(pool, 64, destroy_inside, pool, &o), 0);
        end_pool(pool);
    }
}

/* ---- more callers than guest slots ---- */

struct caller {
    fad_pool *pool;
    pthread_barrier_t *all_inside;
    int rc;
};

static int wait_inside(fad_worker *w, void *arg)
{
    struct caller *c = arg;
    struct order r = {1, 50, true};
    int rc;
    pthread_barrier_wait(c->all_inside);
    rc = any_order(w, &r);
    if (fad_pool_destroy(c->pool) != FAD_EBUSY)
        rc = -300;
    pthread_barrier_wait(c->all_inside);
    return rc;
}

static void *call(void *arg)
{
    struct caller *c = arg;
    c->rc = fad_pool_run(c->pool, wait_inside, c);
    return NULL;
}

/* S7: all of them are inside at once; those without a slot work by themselves. */
static void more_callers_than_slots(void **state)
{
    enum { CALLERS = FADI_GUESTS + 9 };
    pthread_t thread[CALLERS];
    struct caller c[CALLERS];
    pthread_barrier_t all_inside;
    fad_pool *pool = pool_of(3);
    (void)state;
    pthread_barrier_init(&all_inside, NULL, CALLERS);
    for (size_t i = 0; i < CALLERS; i++) {
        c[i] = (struct caller){pool, &all_inside, -1};
        assert_int_equal(pthread_create(&thread[i], NULL, call, &c[i]), 0);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(c[i].rc, 0);
    }
    pthread_barrier_destroy(&all_inside);
    end_pool(pool);
}

/* A call that found no slot is inside too, also when all others have gone. */
struct late {
    struct caller caller;
    pthread_barrier_t *others_gone;
};

static int stay(fad_worker *w, void *arg)
{
    struct late *l = arg;
    (void)w;
    pthread_barrier_wait(l->caller.all_inside);
    if (l->others_gone)
        pthread_barrier_wait(l->others_gone);
    return 0;
}

static void *call_and_stay(void *arg)
{
    struct late *l = arg;
    l->caller.rc = fad_pool_run(l->caller.pool, stay, l);
    return NULL;
}

static void busy_without_a_slot(void **state)
{
    enum { CALLERS = FADI_GUESTS + 1 };
    pthread_t thread[CALLERS];
    struct late l[CALLERS];
    pthread_barrier_t all_inside, others_gone;
    struct fadi_core *core;
    fad_pool *pool = pool_of(1);
    (void)state;
    memcpy(&core, pool, sizeof core); /* its first field */
    pthread_barrier_init(&all_inside, NULL, CALLERS + 1);
    pthread_barrier_init(&others_gone, NULL, 2);
    for (size_t i = 0; i < CALLERS; i++) {
        bool last = i == CALLERS - 1;
        size_t taken = 0;
        l[i] = (struct late){{pool, &all_inside, -1}, last ? &others_gone : NULL};
        assert_int_equal(pthread_create(&thread[i], NULL, call_and_stay, &l[i]), 0);
        while (!last && taken <= i) { /* so that it is the last one that finds none */
            taken = 0;
            for (unsigned s = 0; s < core->slots; s++)
                taken += __atomic_load_n(&core->worker[s].busy, __ATOMIC_RELAXED);
        }
    }
    pthread_barrier_wait(&all_inside);
    for (size_t i = 0; i < CALLERS - 1; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(fad_pool_destroy(pool), FAD_EBUSY);
    pthread_barrier_wait(&others_gone);
    pthread_join(thread[CALLERS - 1], NULL);
    pthread_barrier_destroy(&all_inside);
    pthread_barrier_destroy(&others_gone);
    end_pool(pool);
}

/* ---- threads ---- */

static pthread_t main_thread;
static atomic_int elsewhere, handled;

static void handler(int number)
{
    (void)number;
    atomic_fetch_add(&handled, pthread_equal(pthread_self(), main_thread) ? 1 : 1000000);
}

static int look_at_mask(size_t begin, size_t end, void *user, size_t *failed)
{
    static const int blocked[] = {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD};
    sigset_t now;
    (void)begin;
    (void)end;
    (void)user;
    (void)failed;
    usleep(100);
    if (pthread_equal(pthread_self(), main_thread))
        return 0;
    atomic_fetch_add(&elsewhere, 1);
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    for (size_t i = 0; i < COUNT(blocked); i++)
        if (!sigismember(&now, blocked[i]))
            return 1;
    return 0;
}

/* The program's signals come to the program's threads, whose masks stay as they were. */
static void signals(void **state)
{
    struct sigaction on = {.sa_handler = handler}, before;
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    sigset_t mask;
    fad_pool *pool = pool_of(4);
    (void)state;
    main_thread = pthread_self();
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    assert_false(sigismember(&mask, SIGUSR1));
    for (int i = 0; i < 100 && elsewhere < 10; i++)
        assert_int_equal(fad_for(pool, 64, look_at_mask, NULL, &o), 0);
    assert_true(elsewhere > 0);
    sigaction(SIGUSR1, &on, &before);
    for (int i = 0; i < 100; i++)
        kill(getpid(), SIGUSR1);
    sigaction(SIGUSR1, &before, NULL);
    assert_true(handled > 0 && handled < 1000000);
    end_pool(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options),
        cmocka_unit_test(environment),
        cmocka_unit_test(null_pool),
        cmocka_unit_test(join_in_any_order),
        cmocka_unit_test(more_than_a_deque_holds),
        cmocka_unit_test(busy),
        cmocka_unit_test(more_callers_than_slots),
        cmocka_unit_test(busy_without_a_slot),
        cmocka_unit_test(signals),
    };
    watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
