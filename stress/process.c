/* fork() while the pool works for other threads, between calls and inside a callback (S10): the child computes on its copy
 * of the pool and ends it, and a call that was under way says FAD_EFORKED there. A child that hangs is killed by its alarm.
 *     stress/process [-t workers] [-s seconds] [-r seed] [-w seconds without progress]
 * ends with    pools=... children=... folds=... hung=0 wrong=0 */
#include "stress/stress.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#define CALLERS 3
#define N 400

static atomic_ullong children, folds, hung, wrong;
static double number[2000], total;

static void add(atomic_ullong *counter, unsigned long long n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed); /* relaxed: counters */
}

static int add_up(size_t begin, size_t end, void *user, size_t *failed)
{
    (void)failed;
    for (size_t i = begin; i < end; i++)
        atomic_fetch_add((atomic_size_t *)user, i);
    return 0;
}

static bool works(fad_pool *pool)
{
    struct fad_fold_options o = {.leaf = 4, .grain = 1};
    atomic_size_t sum = 0;
    double got = 0;
    add(&folds, 2);
    return fad_for(pool, N, add_up, &sum, &o) == 0 && sum == (size_t)N * (N - 1) / 2 &&
           fad_sum_array(pool, number, STRESS_COUNT(number), &got) == 0 && !memcmp(&got, &total, sizeof got);
}

static _Noreturn void child_ends(fad_pool *pool, bool well)
{
    _exit(well && works(pool) && works(pool) && fad_pool_destroy(pool) == FAD_OK ? 0 : 1);
}

static void expect(pid_t child)
{
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        stress_fail("no child");
    add(&children, 1);
    add(&hung, WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
    add(&wrong, status != 0);
}

/* ---- inside a callback, on the calling thread ---- */

struct inside {
    pthread_t caller;
    size_t at;
    bool forked, child;
    pid_t pid;
};

static int fork_there(size_t begin, size_t end, void *user, size_t *failed)
{
    struct inside *s = user;
    (void)end;
    (void)failed;
    if (begin < s->at || !pthread_equal(pthread_self(), s->caller) || s->forked)
        return 0;
    s->forked = true;
    s->pid = fork();
    if (s->pid == 0) {
        alarm(30 * STRESS_SLOWER);
        s->child = true;
    }
    return 0;
}

static void fork_inside(struct stress_caller *c)
{
    struct fad_fold_options o = {.leaf = 1, .grain = 1};
    struct inside s = {.caller = pthread_self(), .at = stress_below(&c->seed, 100)};
    int rc = fad_for(c->pool, 100, fork_there, &s, &o);
    if (s.child)
        child_ends(c->pool, rc == FAD_EFORKED);
    add(&wrong, rc != 0);
    if (s.forked)
        expect(s.pid);
}

static void fork_between(struct stress_caller *c)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(30 * STRESS_SLOWER);
        child_ends(c->pool, true);
    }
    expect(child);
}

static void *call(void *arg)
{
    struct stress_caller *c = arg;
    do {
        size_t what = stress_below(&c->seed, 8);
        if (what == 0)
            fork_inside(c);
        else if (what == 1)
            fork_between(c);
        else
            add(&wrong, !works(c->pool));
        stress_progress();
    } while (stress_now() < c->until);
    return NULL;
}

int main(int argc, char **argv)
{
    struct stress s = stress_options(argc, argv);
    unsigned pools;
    const char *wrapper = getenv("TEST_WRAPPER");
    if (wrapper && strstr(wrapper, "qemu")) {
        puts("skipped under an emulator: it starts no threads in the child of a fork");
        return 77;
    }
#ifdef STRESS_TSAN
    puts("ThreadSanitizer starts no threads in the child of a fork");
    return 77;
#endif
#ifdef STRESS_ASAN /* whose allocator's locks stay locked in the child if another thread allocates while this one forks */
    puts("AddressSanitizer cannot allocate in the child of a process with several threads; tests/case_fork forks with one");
    return 77;
#endif
    for (size_t i = 0; i < STRESS_COUNT(number); i++)
        number[i] = 1.0 / (double)(i + 1);
    (void)fad_sum_array(NULL, number, STRESS_COUNT(number), &total);
    pools = stress_pools(&s, CALLERS, 0.1, call, NULL);
    printf("pools=%u children=%llu folds=%llu hung=%llu wrong=%llu\n", pools, children, folds, hung, wrong);
    return stress_end(children, wrong);
}
