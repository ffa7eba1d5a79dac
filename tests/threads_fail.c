/* S18: the system refuses threads after the first few, or what is needed to start any. The pool goes on with those it has
 * got. */
#include "tests/sched_help.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

static unsigned allowed, attributes_refused;

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
    if (allowed == 0)
        return EAGAIN;
    allowed--;
    return __real_pthread_create(t, a, fn, arg);
}

int __real_pthread_attr_init(pthread_attr_t *a);
int __wrap_pthread_attr_init(pthread_attr_t *a);
int __wrap_pthread_attr_init(pthread_attr_t *a)
{
    return attributes_refused == 1 ? ENOMEM : __real_pthread_attr_init(a);
}

/* The first call only asks whether the size is valid. */
int __real_pthread_attr_setstacksize(pthread_attr_t *a, size_t size);
int __wrap_pthread_attr_setstacksize(pthread_attr_t *a, size_t size);
int __wrap_pthread_attr_setstacksize(pthread_attr_t *a, size_t size)
{
    return attributes_refused > 1 && --attributes_refused == 1 ? EINVAL : __real_pthread_attr_setstacksize(a, size);
}

/* ThreadSanitizer registers handlers of its own before it can follow calls of instrumented functions. */
#ifdef __clang__
#define NOT_INSTRUMENTED __attribute__((disable_sanitizer_instrumentation))
#else
#define NOT_INSTRUMENTED
#endif
static bool handlers_refused; /* by main */
int __real_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void));
NOT_INSTRUMENTED int __wrap_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void))
{
    return handlers_refused ? ENOMEM : __real_pthread_atfork(before, parent, child);
}

static int mark(size_t begin, size_t end, void *user, size_t *failed)
{
    (void)failed;
    for (size_t i = begin; i < end; i++)
        __atomic_add_fetch((unsigned char *)user + i, 1, __ATOMIC_RELAXED);
    if (begin % 32 == 0)
        usleep(20);
    return 0;
}

static void works(fad_pool *pool, unsigned workers)
{
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    assert_int_equal(fad_pool_workers(pool), workers);
    for (int i = 0; i < 5; i++) {
        unsigned char seen[300] = {0};
        assert_int_equal(fad_for(pool, COUNT(seen), mark, seen, &o), 0);
        for (size_t k = 0; k < COUNT(seen); k++)
            assert_int_equal(seen[k], 1);
    }
    end_pool(pool);
}

static void works_with_what_it_got(void **state)
{
    static const unsigned asked[] = {1, 2, 4, 9, 256, FAD_WORKERS_MAX};
    sigset_t blocked;
    (void)state;
    for (size_t a = 0; a < COUNT(asked); a++)
        for (unsigned got = 0; got <= (asked[a] < 10 ? asked[a] : 10); got++) {
            allowed = got;
            works(pool_of(asked[a]), got + 1 < asked[a] ? got + 1 : asked[a]);
            /* only threads of the pool block signals */
            assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &blocked), 0);
            assert_false(sigismember(&blocked, SIGALRM) || sigismember(&blocked, SIGUSR1));
        }
}

static void no_attributes(void **state)
{
    struct fad_pool_options o = {.workers = 4};
    fad_pool *pool = NULL;
    (void)state;
    allowed = 10;
    attributes_refused = 1;
    works(pool_of(4), 1);
    o.stack_bytes = 1 << 20;
    assert_int_equal(fad_pool_create(&pool, &o), FAD_EINVAL); /* whether the size is valid cannot be known */
    attributes_refused = 3;
    assert_int_equal(fad_pool_create(&pool, &o), FAD_OK);
    assert_int_equal(attributes_refused, 1);
    attributes_refused = 0;
    works(pool, 1);
}

/* Without its handlers a pool would hang in the child of a fork: then there is no pool. Before any other pool is made. */
static void no_fork_handlers(void **state)
{
    struct fad_pool_options o = {.workers = 4};
    fad_pool *pool = (fad_pool *)&o;
    (void)state;
    allowed = 3;
    assert_int_equal(fad_pool_create(&pool, &o), FAD_ENOMEM);
    assert_ptr_equal(pool, &o);
    assert_int_equal(allowed, 3);
    handlers_refused = false;
    works(pool_of(4), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_fork_handlers),
        cmocka_unit_test(works_with_what_it_got),
        cmocka_unit_test(no_attributes),
    };
    handlers_refused = true;
    watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
