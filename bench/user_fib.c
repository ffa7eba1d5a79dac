/* Fibonacci numbers without a cutoff: next to no work beside the spawns. */
#include "user.h"

long fib_plain(long n)
{
    return n < 2 ? n : fib_plain(n - 1) + fib_plain(n - 2);
}

__attribute__((noinline)) long fib_plain_calls(long n)
{
    return n < 2 ? n : fib_plain_calls(n - 1) + fib_plain_calls(n - 2);
}

struct call {
    long n, result;
};

static int reclaim_task(fad_worker *w, void *arg)
{
    struct call *c = arg;
    c->result = fib_reclaim(w, c->n);
    return 0;
}

/* Both halves are typed calls; the task is only for the case that somebody steals it. */
long fib_reclaim(fad_worker *w, long n)
{
    fad_task task;
    struct call left;
    long right;
    if (n < 2)
        return n;
    left.n = n - 1;
    fad_fork(w, &task, reclaim_task, &left);
    right = fib_reclaim(w, n - 2);
    if (fad_reclaim(w, &task))
        return fib_reclaim(w, n - 1) + right;
    return left.result + right;
}

static int join_task(fad_worker *w, void *arg)
{
    struct call *c = arg;
    c->result = fib_join(w, c->n);
    return 0;
}

long fib_join(fad_worker *w, long n)
{
    fad_task task;
    struct call left;
    long right;
    if (n < 2)
        return n;
    left.n = n - 1;
    fad_fork(w, &task, join_task, &left);
    right = fib_join(w, n - 2);
    fad_join(w, &task);
    return left.result + right;
}
