/* What a spawn costs: fib without a cutoff. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "benches.h"
#include "harness.h"
#include "others.h"
#include "user.h"

static int call_plain(void *problem, unsigned workers, double *out)
{
    const struct fib_problem *p = problem;
    (void)workers;
    out[0] = (double)fib_plain(p->n);
    return 0;
}

static int call_plain_calls(void *problem, unsigned workers, double *out)
{
    const struct fib_problem *p = problem;
    (void)workers;
    out[0] = (double)fib_plain_calls(p->n);
    return 0;
}

struct start {
    long n, result;
};

static int start_reclaim(fad_worker *w, void *arg)
{
    struct start *s = arg;
    s->result = fib_reclaim(w, s->n);
    return 0;
}

static int start_join(fad_worker *w, void *arg)
{
    struct start *s = arg;
    s->result = fib_join(w, s->n);
    return 0;
}

static int call_start(int (*start)(fad_worker *, void *), const struct fib_problem *p, unsigned workers, double *out)
{
    struct start s = {p->n, 0};
    int rc = fad_pool_run(bench_pool(workers), start, &s);
    out[0] = (double)s.result;
    return rc;
}

static int call_reclaim(void *problem, unsigned workers, double *out)
{
    return call_start(start_reclaim, problem, workers, out);
}

static int call_join(void *problem, unsigned workers, double *out)
{
    return call_start(start_join, problem, workers, out);
}

/* fib(n) spawns once in every call with n >= 2. */
static double spawns_of(long n)
{
    return n < 2 ? 0 : 1 + spawns_of(n - 1) + spawns_of(n - 2);
}

static void spawn_group(struct bench *b, const char *name, bench_call *call, double target_ns, long n, bool small)
{
    struct fib_problem problem = {n};
    double spawns = spawns_of(n);
    unsigned many = b->options.workers;
    const struct contender list[] = {
        {"serial", call_plain, 1, .outputs = 1},
        {"serial_calls", call_plain_calls, 1, "serial"},
        {"foldad", call, 1, "serial", "serial", "spawn", spawns, .target = {0, small ? 0 : target_ns}},
        {"foldad_calls", call, 1, "serial_calls", "serial_calls", "spawn", spawns},
        {"foldad", call, 1, "serial"},
        {"foldad", call, many, "foldad", .target = {many == 2 && !small ? 1 / 1.9 : 0, 0}},
        {"openmp", small ? openmp_fib : NULL, 1, "serial", "serial", "spawn", spawns},
        {"openmp", small ? openmp_fib : NULL, many, "serial"},
        {"tbb", small ? tbb_fib : NULL, 1, "serial", "serial", "spawn", spawns},
        {"tbb", small ? tbb_fib : NULL, many, "serial"},
        {"tbb_invoke", small ? tbb_fib_invoke : NULL, 1, "serial", "serial", "spawn", spawns},
        {"tbb_invoke", small ? tbb_fib_invoke : NULL, many, "serial"},
    };
    bench_group(b, &(struct group){.name = name, .n = (size_t)n, .unit = "call", .units = spawns, .problem = &problem,
        .about = "fib(n), all of it spawned. Unit spawn: the time over that of the plain function, a spawn; unit call: all the\n"
                 "# time, a call with n >= 2. The plain function is \"serial\" as the compiler likes it (it inlines levels of\n"
                 "# the recursion), \"serial_calls\" with every call made; foldad_calls is the difference to that one",
        .outputs = 1, .list = list, .count = BENCH_COUNT(list)});
}

static void spawn_sizes(struct bench *b, const char *name, bench_call *call, double target_ns)
{
    bool quick = b->options.quick;
    spawn_group(b, name, call, target_ns, quick ? 22 : 34, false);
    spawn_group(b, name, call, target_ns, quick ? 12 : 20, true);
}

void bench_spawn_fib(struct bench *b)
{
    spawn_sizes(b, "spawn_fib", call_reclaim, 3.0);
}

void bench_spawn_fib_join(struct bench *b)
{
    spawn_sizes(b, "spawn_fib_join", call_join, 6.5);
}
