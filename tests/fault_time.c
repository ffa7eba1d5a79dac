/* A clock that jumps, stands still or fails: it decides when work is offered and when workers fall asleep, never what comes
 * out, whether it comes, or that an idle pool is silent. */
#include "tests/sched_help.h"
#include "tests/workload.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

enum how { RIGHT, FORWARD, BACKWARD, WILD, SLOW, STILL, FAILING, HOWS };

static atomic_int how;
static atomic_ulong calls;

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    unsigned long i = atomic_fetch_add(&calls, 1);
    uint64_t dice = i;
    int rc = __real_clock_gettime(clock, t);
    switch (atomic_load(&how)) {
    case FORWARD: t->tv_sec += (time_t)(3600 * i); break;
    case BACKWARD: t->tv_sec -= (time_t)(3600 * i); break;
    case WILD: *t = (struct timespec){(time_t)(next_random(&dice) >> 1), (long)below(&dice, 1000000000)}; break;
    case SLOW: *t = (struct timespec){7, (long)(i / 100)}; break;
    case STILL: *t = (struct timespec){7, 7}; break;
    case FAILING:
        *t = (struct timespec){(time_t)next_random(&dice), -1}; /* whatever: it must not be looked at */
        errno = EINVAL;
        return -1;
    default: break;
    }
    return rc;
}

static void nothing_is_lost(void **state)
{
    (void)state;
    for (int h = RIGHT; h < HOWS; h++) {
        how = h;
        calls = 0;
        assert_true(workload_on_pools(3));
        assert_true(calls > 0);
    }
    how = RIGHT;
}

static void idle_is_silent(void **state)
{
    (void)state;
    skip_if_emulated("its own CPU time would be counted");
    for (int h = RIGHT; h < HOWS; h++) {
        how = h;
        if (!workload_silent_when_idle())
            fail_msg("clock %d: workers without work are busy", h);
    }
    how = RIGHT;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_lost), cmocka_unit_test(idle_is_silent)};
    watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
