#include "sched/wait.h"

#include <errno.h>

#include "sched/arch.h"

#if defined(__linux__) && !defined(FADI_NO_FUTEX)

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Set once the system has refused the call (ENOSYS, or EPERM: a container's filter). Such an answer stays: filters cannot
 * be taken away, and are there before the program begins. A pthread condition is no way out, because glibc waits by the
 * same call and aborts the process when it is refused, in pthread_join too; so waits poll instead. */
static FAD_ATOMIC(uint32_t) refused;

/* False: refused. Every other error (EAGAIN: the word has changed; EINTR) is an early return. */
static bool futex(FAD_ATOMIC(uint32_t) * word, int op, uint32_t value)
{
    if (FAD_LOAD(&refused, FAD_RELAXED)) /* relaxed: a thread that does not know it yet finds out by itself */
        return false;
    if (syscall(SYS_futex, (void *)word, op, value, NULL, NULL, 0) >= 0 || (errno != ENOSYS && errno != EPERM))
        return true;
    FAD_STORE(&refused, 1, FAD_RELAXED);
    return false;
}

/* Pauses grow from 50 us to 26 ms: a sleeper that polls is to cost some thousandths of a CPU. */
static void longer_pause(struct timespec *t)
{
    nanosleep(t, NULL);
    if (t->tv_nsec < 20000000)
        t->tv_nsec *= 2;
}

void fadi_wait(FAD_ATOMIC(uint32_t) * word, uint32_t value)
{
    struct timespec t = {0, 50000};
    if (futex(word, FUTEX_WAIT_PRIVATE, value))
        return;
    while (FAD_LOAD(word, FADI_EPOCH_READ) == value)
        longer_pause(&t);
}

void fadi_wake(FAD_ATOMIC(uint32_t) * word, bool all)
{
    (void)futex(word, FUTEX_WAKE_PRIVATE, all ? INT_MAX : 1); /* refused: who waits looks at the word himself */
}

void fadi_join_thread(pthread_t thread)
{
    struct timespec t = {0, 50000};
    while (FAD_LOAD(&refused, FAD_RELAXED)) { /* relaxed: as above */
        if (pthread_tryjoin_np(thread, NULL) != EBUSY)
            return;
        longer_pause(&t);
    }
    pthread_join(thread, NULL);
}

void fadi_wait_forked(void)
{
}

#else

/* The portable wait: one mutex and condition for the process. The word is changed before fadi_wake takes the mutex, so a
 * waiter either sees the new value or is inside pthread_cond_wait. */
static pthread_mutex_t wait_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wait_condition = PTHREAD_COND_INITIALIZER;

void fadi_wait(FAD_ATOMIC(uint32_t) * word, uint32_t value)
{
    pthread_mutex_lock(&wait_mutex);
    if (FAD_LOAD(word, FAD_RELAXED) == value) /* relaxed: the mutex orders it */
        pthread_cond_wait(&wait_condition, &wait_mutex);
    pthread_mutex_unlock(&wait_mutex);
}

void fadi_wake(FAD_ATOMIC(uint32_t) * word, bool all)
{
    (void)word;
    (void)all; /* all pools wait here: one signal might go to another pool's sleeper */
    pthread_mutex_lock(&wait_mutex);
    pthread_cond_broadcast(&wait_condition);
    pthread_mutex_unlock(&wait_mutex);
}

void fadi_join_thread(pthread_t thread)
{
    pthread_join(thread, NULL);
}

void fadi_wait_forked(void)
{
    wait_mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    wait_condition = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

#endif

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
