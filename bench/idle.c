/* What a pool that has nothing to do takes from the machine. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "benches.h"
#include "harness.h"
#include "kernels.h"
#include "others.h"
#include "user.h"

#include <sys/resource.h>

enum { WORKERS = 4, SAMPLES = 3, ELEMENTS = 400 };

static double processor_us(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e6 + (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

/* Percent of one processor, from the end of the last fold on. */
static int measure(struct bench *b, const struct contender *c, struct fold_problem *problem, double *percent)
{
    unsigned idle_us = b->options.quick ? 200000 : 2000000;
    double before, start, out;
    for (int i = 0; i < 10; i++) {
        int rc = c->call(problem, c->workers, &out);
        if (rc)
            return rc;
    }
    before = processor_us();
    start = bench_now();
    bench_sleep(idle_us);
    *percent = 100 * (processor_us() - before) / ((bench_now() - start) / 1000);
    return 0;
}

/* One after the other and not in turn: another runtime's sleeping threads would be counted too if they woke. */
void bench_idle_cpu(struct bench *b)
{
    double x[ELEMENTS], percent[SAMPLES];
    struct fold_problem problem = {x, ELEMENTS, NULL, kernel_costly};
    const struct contender list[] = {
        {"foldad", user_fold_costly, WORKERS, .target = {0, 1.0}},
        {"openmp", openmp_costly, WORKERS},
        {"tbb", tbb_costly, WORKERS},
    };
    for (size_t i = 0; i < ELEMENTS; i++)
        x[i] = bench_uniform(i) + 1;
    bench_about(b, "idle_cpu", "processor time taken in 2 s without work, right after folds; percent of one processor, not ns");
    for (size_t i = 0; i < BENCH_COUNT(list); i++) {
        size_t samples = b->options.quick ? 1 : SAMPLES;
        struct figure f = {.name = "idle_cpu", .contender = list[i].name, .workers = WORKERS, .n = ELEMENTS, .unit = "percent",
                           .samples = percent, .count = samples, .limit = list[i].target.offset_ns};
        if (!list[i].call)
            continue;
        for (size_t s = 0; s < samples && !f.error; s++)
            f.error = measure(b, &list[i], &problem, &percent[s]);
        bench_figure(b, &f);
    }
}
