/* Signals arrive all the time, a thousand a second at each thread that calls, with and without SA_RESTART; the handler
 * disturbs errno. Nothing is lost and no bit changes; the pool's own threads get none. */
#include "tests/sched_help.h"
#include "tests/workload.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>

enum { CALLERS = 3 };

static pthread_t caller[CALLERS];
static atomic_uint arrived, strays, bad;
static atomic_bool stop;
static __thread atomic_bool is_caller;

static void handle(int number)
{
    (void)number;
#ifndef THREAD_SANITIZER /* which reports it, rightly: here it is done on purpose */
    errno = EDOM;
#endif
    atomic_fetch_add(is_caller ? &arrived : &strays, 1);
}

static void block(int how)
{
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    assert_int_equal(pthread_sigmask(how, &usr1, NULL), 0);
}

static void *call(void *arg)
{
    fad_pool *pool = arg;
    is_caller = true;
    block(SIG_UNBLOCK);
    for (uint64_t i = 0; !stop; i++)
        atomic_fetch_add(&bad, !workload(pool, i));
    return NULL;
}

static void *send(void *arg)
{
    (void)arg;
    while (!stop) {
        for (size_t i = 0; i < CALLERS; i++)
            pthread_kill(caller[i], SIGUSR1);
        kill(getpid(), SIGUSR1); /* to whichever thread does not block it */
        usleep(1000);
    }
    return NULL;
}

static void seconds_of_signals(int flags)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = flags}, old;
    pthread_t sender;
    sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    stop = false;
    arrived = strays = bad = 0;
    fad_pool *pool = pool_of(4);
    block(SIG_BLOCK);
    for (size_t i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&caller[i], NULL, call, pool), 0);
    assert_int_equal(pthread_create(&sender, NULL, send, NULL), 0);
    sleep(1);
    stop = true;
    pthread_join(sender, NULL);
    for (size_t i = 0; i < CALLERS; i++)
        pthread_join(caller[i], NULL);
    end_pool(pool);
    block(SIG_UNBLOCK);
    sigaction(SIGUSR1, &old, NULL);
    assert_int_equal(bad, 0);
    assert_int_equal(strays, 0);
    assert_true(arrived > 100);
}

static void signals_restart(void **state)
{
    (void)state;
    seconds_of_signals(SA_RESTART);
}

static void signals_interrupt(void **state)
{
    (void)state;
    seconds_of_signals(0);
}

/* The whole process is stopped and continued: for its threads, time has jumped in the middle of anything. */
static void stopped_and_continued(void **state)
{
    pid_t child, parent = getpid();
    int status;
    (void)state;
    skip_if_emulated("the emulator's threads are stopped one by one");
    if ((child = fork()) == 0) {
        for (int i = 0; i < 30; i++) {
            kill(parent, SIGSTOP);
            usleep(3000);
            kill(parent, SIGCONT);
            usleep(7000);
        }
        _exit(0);
    }
    assert_true(child > 0);
    do
        assert_true(workload_on_pools(1));
    while (waitpid(child, &status, WNOHANG) == 0);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_restart), cmocka_unit_test(signals_interrupt), cmocka_unit_test(stopped_and_continued),
    };
    watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
