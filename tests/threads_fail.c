/* S18: the system refuses threads after the first few. The pool goes on with those it has got. */
#include "tests/sched_help.h"

#include <errno.h>
#include <pthread.h>

static unsigned allowed;

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
    if (allowed == 0)
        return EAGAIN;
    allowed--;
    return __real_pthread_create(t, a, fn, arg);
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

static void works_with_what_it_got(void **state)
{
    static const unsigned asked[] = {1, 2, 4, 16, 256, FAD_WORKERS_MAX};
    static const unsigned got[] = {0, 1, 2, 3, 10};
    (void)state;
    for (size_t a = 0; a < COUNT(asked); a++)
        for (size_t g = 0; g < COUNT(got); g++) {
            struct fad_fold_options o = {.leaf = 1, .grain = 1};
            unsigned want = got[g] + 1 < asked[a] ? got[g] + 1 : asked[a];
            fad_pool *pool;
            allowed = got[g];
            pool = pool_of(asked[a]);
            assert_int_equal(fad_pool_workers(pool), want);
            for (int i = 0; i < 5; i++) {
                unsigned char seen[300] = {0};
                assert_int_equal(fad_for(pool, COUNT(seen), mark, seen, &o), 0);
                for (size_t k = 0; k < COUNT(seen); k++)
                    assert_int_equal(seen[k], 1);
            }
            end_pool(pool);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(works_with_what_it_got)};
    watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
