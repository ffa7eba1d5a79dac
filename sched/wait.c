#include "sched/wait.h"

#include <errno.h>
#include <pthread.h>

#include "sched/arch.h"

#if defined(__linux__) && !defined(FADI_NO_FUTEX)
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Every error (EAGAIN: the word has changed; EINTR; a filter's EPERM or ENOSYS) is an early return. */
static long futex(FAD_ATOMIC(uint32_t) * word, int op, uint32_t value)
{
    return syscall(SYS_futex, (void *)word, op, value, NULL, NULL, 0);
}
#else
#define FADI_WAIT_CONDITION 1
#endif

/* The portable wait: one mutex and condition for the process. The word is changed before fadi_wake takes the mutex, so a
 * waiter either sees the new value or is inside pthread_cond_wait. Also where the futex call is forbidden. */
static pthread_mutex_t wait_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wait_condition = PTHREAD_COND_INITIALIZER;

static void condition_wait(FAD_ATOMIC(uint32_t) * word, uint32_t value)
{
    pthread_mutex_lock(&wait_mutex);
    if (FAD_LOAD(word, FADI_EPOCH_READ) == value)
        pthread_cond_wait(&wait_condition, &wait_mutex);
    pthread_mutex_unlock(&wait_mutex);
}

static void condition_wake(void)
{
    pthread_mutex_lock(&wait_mutex);
    pthread_cond_broadcast(&wait_condition);
    pthread_mutex_unlock(&wait_mutex);
}

void fadi_wait_forked(void)
{
    wait_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    wait_condition = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

void fadi_wait(FAD_ATOMIC(uint32_t) * word, uint32_t value)
{
#ifndef FADI_WAIT_CONDITION
    if (futex(word, FUTEX_WAIT_PRIVATE, value) == 0 || (errno != ENOSYS && errno != EPERM))
        return;
#endif
    condition_wait(word, value);
}

void fadi_wake(FAD_ATOMIC(uint32_t) * word, bool all)
{
#ifndef FADI_WAIT_CONDITION
    if (futex(word, FUTEX_WAKE_PRIVATE, all ? INT_MAX : 1) >= 0)
        return;
#endif
    (void)word;
    (void)all;
    condition_wake();
}

void fadi_back_off(unsigned round, bool crowded)
{
    if (round < (crowded ? 16u : 256u)) {
        for (unsigned i = 0; i <= round / 4; i++)
            fadi_pause();
    } else if (round < 512) {
        sched_yield();
    } else {
        struct timespec t = {0, round < 1024 ? 20000 : 200000};
        nanosleep(&t, NULL);
    }
}
