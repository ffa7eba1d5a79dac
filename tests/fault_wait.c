/* Faults of waiting: calls that return early, and a system that refuses them. Nothing is lost, nothing hangs, and who sleeps
 * does not spin. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "tests/sched_help.h"
#include "tests/workload.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/wait.h>

#if defined(__linux__) && !defined(FADI_NO_FUTEX)
#define WITH_FUTEX 1
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

/* ---- the calls ---- */

static atomic_int fault;      /* an errno; 0: the wait returns as if it had been woken */
static atomic_uint one_in;    /* how many waits it hits; 0: none */
static atomic_bool refusing;  /* it hits all calls, those that wake too */
static atomic_ulong calls, hits;

static bool hit(void)
{
    unsigned n = atomic_load(&one_in);
    unsigned long i = atomic_fetch_add(&calls, 1);
    if (!atomic_load(&refusing) && (n == 0 || i % n))
        return false;
    atomic_fetch_add(&hits, 1);
    return true;
}

#ifdef WITH_FUTEX
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
    long a[6];
    va_list arguments;
    va_start(arguments, number);
    for (size_t i = 0; i < COUNT(a); i++)
        a[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_futex && (a[1] == FUTEX_WAIT_PRIVATE || atomic_load(&refusing)) && hit()) {
        errno = atomic_load(&fault);
        return errno ? -1 : 0;
    }
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
#else
int __real_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    return hit() ? 0 : __real_pthread_cond_wait(c, m);
}
#endif

static void early_returns(void **state)
{
    static const int errors[] = {0, EINTR, EAGAIN, ETIMEDOUT};
    static const unsigned shares[] = {1, 3};
    (void)state;
    for (size_t e = 0; e < COUNT(errors); e++)
        for (size_t s = 0; s < COUNT(shares); s++) {
            fault = errors[e];
            one_in = shares[s];
            hits = 0;
            assert_true(workload_on_pools(3));
            assert_true(hits > 0);
        }
    one_in = 0;
}

#ifdef WITH_FUTEX

/* In a child, because the library remembers that it was refused. The child reports by its exit code. */
static int result_of(pid_t child)
{
    int status;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int refused_child(int error)
{
    watchdog();
    fault = error;
    refusing = true;
    hits = 0;
    if (!workload_on_pools(3))
        return 1;
    if (hits == 0 || hits > 50) /* threads that were on their way before it was known */
        return 2;
    return workload_silent_when_idle() ? 0 : 3;
}

static void refused(void **state)
{
    static const int errors[] = {ENOSYS, EPERM};
    (void)state;
    skip_if_emulated("it starts no threads in the child of a fork");
    for (size_t e = 0; e < COUNT(errors); e++) {
        pid_t child = fork();
        if (child == 0)
            _exit(refused_child(errors[e]));
        assert_int_equal(result_of(child), 0);
    }
}

/* The real thing: a filter of the kernel for the whole process. 77: filters are not to be had here. */
static int filtered_child(int error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {COUNT(code), code};
    watchdog();
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 77;
    if (syscall(SYS_futex, &fault, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) != -1 || errno != error)
        return 77;
    return workload_on_pools(3) ? 0 : 1;
}

/* glibc's own locks wait by futex too, those of malloc for one, and abort when that is refused and two threads meet there.
 * That is rare, and not the library's: one of ten attempts has to end well. If the library waited in a way of glibc's, all
 * of them would abort. */
static void filtered(void **state)
{
    static const int errors[] = {ENOSYS, EPERM};
    (void)state;
    skip_if_emulated("it starts no threads in the child of a fork");
    for (size_t e = 0; e < COUNT(errors); e++) {
        int rc = -SIGABRT;
        for (unsigned attempt = 0; attempt < 10 && rc == -SIGABRT; attempt++) {
            pid_t child = fork();
            if (child == 0)
                _exit(filtered_child(errors[e]));
            rc = result_of(child);
        }
        if (rc == 77) {
            print_message("skipped: no system call filters here\n");
            skip();
        }
        assert_int_equal(rc, 0);
    }
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef WITH_FUTEX
#if SLOWER == 1 /* runtimes of sanitizers wait by futex themselves */
        cmocka_unit_test(filtered),
#endif
#ifndef THREAD_SANITIZER /* starts no threads in the child of a fork */
        cmocka_unit_test(refused),
#endif
#endif
        cmocka_unit_test(early_returns),
    };
    watchdog();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
