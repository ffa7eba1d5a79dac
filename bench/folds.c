/* Folds of plain numbers: large, small, after a pause, of few costly elements. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "benches.h"
#include "harness.h"
#include "kernels.h"
#include "others.h"
#include "user.h"

#include <stdlib.h>

static double *numbers(size_t n)
{
    double *x = bench_alloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = bench_uniform(i) + 0.25; /* a sum that does not cancel to nothing */
    return x;
}

static int sum_array(void *problem, unsigned workers, double *out)
{
    const struct fold_problem *p = problem;
    return fad_sum_array(bench_pool(workers), p->x, p->n, out);
}

static int sum_array_kbn(void *problem, unsigned workers, double *out)
{
    const struct fold_problem *p = problem;
    return fad_sum_array_kbn(bench_pool(workers), p->x, p->n, out);
}

static int loop_sum(void *problem, unsigned workers, double *out)
{
    const struct fold_problem *p = problem;
    (void)workers;
    *out = kernel_sum_scalar(p->x, p->n);
    return 0;
}

static int loop_exp(void *problem, unsigned workers, double *out)
{
    const struct fold_problem *p = problem;
    (void)workers;
    *out = kernel_exp_scalar(p->x, p->n);
    return 0;
}

static int loop_kernel(void *problem, unsigned workers, double *out)
{
    const struct fold_problem *p = problem;
    (void)workers;
    *out = p->kernel(p->x, p->n);
    return 0;
}

static int loop_costly(void *problem, unsigned workers, double *out)
{
    const struct fold_problem *p = problem;
    (void)workers;
    *out = 0;
    for (size_t i = 0; i < p->n; i++)
        *out += p->costly(p->x[i]);
    return 0;
}

static void sum_group(struct bench *b, size_t n)
{
    double *x = numbers(n);
    struct fold_problem problem = {x, n, kernel_sum_simd, NULL};
    unsigned many = b->options.workers;
    const struct contender list[] = {
        {"simd", loop_kernel, 1},
        {"serial", loop_sum, 1, "simd"},
        {"foldad", sum_array, 1, "simd", .target = {n >= 1000000 ? 1.05 : 0, 0}},
        {"foldad", sum_array, many, "foldad"},
        {"foldad_kbn", sum_array_kbn, 1, "simd"},
        {"openmp", openmp_sum, 1, "simd"},
        {"openmp", openmp_sum, many, "simd"},
        {"tbb", tbb_fold, 1, "simd"},
        {"tbb", tbb_fold, many, "simd"},
    };
    bench_group(b, &(struct group){.name = "fold_sum", .n = n, .unit = "element", .units = (double)n, .problem = &problem,
        .about = "sum of n doubles; foldad is fad_sum_array, foldad_kbn the compensated one",
        .outputs = 1, .tolerance = 1e-9, .list = list, .count = BENCH_COUNT(list)});
    free(x);
}

void bench_fold_sum(struct bench *b)
{
    sum_group(b, b->options.quick ? 1000000 : 50000000);
    sum_group(b, b->options.quick ? 100000 : 1000000);
    sum_group(b, 10000);
}

static void exp_group(struct bench *b, size_t n)
{
    double *x = numbers(n);
    struct fold_problem problem = {x, n, kernel_exp_simd, NULL};
    unsigned many = b->options.workers;
    const struct contender list[] = {
        {"simd", loop_kernel, 1},
        {"serial", loop_exp, 1, "simd"},
        {"foldad", user_fold, 1, "simd", .target = {1.05, 0}},
        {"foldad", user_fold, many, "foldad", .target = {many == 2 && n >= 100000 ? 1 / 1.85 : 0, 0}},
        {"openmp", openmp_fold, many, "simd"},
        {"tbb", tbb_fold, many, "simd"},
    };
    bench_group(b, &(struct group){.name = "fold_exp", .n = n, .unit = "element", .units = (double)n, .problem = &problem,
        .about = "sum of exp(x); all but serial (libm) run the same SIMD kernel over their ranges, foldad in the default leaf",
        .outputs = 1, .tolerance = 1e-9, .list = list, .count = BENCH_COUNT(list)});
    free(x);
}

void bench_fold_exp(struct bench *b)
{
    exp_group(b, b->options.quick ? 200000 : 10000000);
    exp_group(b, b->options.quick ? 20000 : 100000);
    exp_group(b, 10000);
}

static void small_group(struct bench *b, const char *name, size_t n, unsigned idle_us)
{
    double *x = numbers(n);
    struct fold_problem problem = {x, n, kernel_squares_simd, NULL};
    unsigned many = b->options.workers;
    struct target target = idle_us ? (struct target){1, 3000} : (struct target){1.3, 200};
    const struct contender list[] = {
        {"simd", loop_kernel, 1},
        {"serial", user_loop_squares, 1, "simd"},
        {"foldad", user_fold, many, "simd", .target = target},
        {"foldad", user_fold, 2 * many, "simd", .target = target},
        {"foldad_scalar", user_fold_squares, many, "serial", .target = target},
        {"foldad_scalar", user_fold_squares, 2 * many, "serial", .target = target},
        {"openmp", openmp_fold, many, "simd"},
        {"tbb", tbb_fold, many, "simd"},
    };
    bench_group(b, &(struct group){.name = name, .n = n, .unit = "call", .units = 1, .problem = &problem, .idle_us = idle_us,
        .about = idle_us ? "as fold_small, but 5 ms asleep before every call"
                         : "sum of squares, one call after the other. simd and foldad: the same SIMD kernel over whole ranges;\n"
                           "# serial and foldad_scalar: the same plain loop, both compiled as users do",
        .outputs = 1, .tolerance = 1e-12, .list = list, .count = BENCH_COUNT(list)});
    free(x);
}

void bench_fold_small(struct bench *b)
{
    small_group(b, "fold_small", 100, 0);
    small_group(b, "fold_small", 1000, 0);
    small_group(b, "fold_small", 10000, 0);
}

void bench_fold_small_idle(struct bench *b)
{
    small_group(b, "fold_small_idle", 1000, 5000);
    small_group(b, "fold_small_idle", 10000, 5000);
}

static void costly_group(struct bench *b, size_t n)
{
    double *x = numbers(n);
    struct fold_problem problem = {x, n, NULL, kernel_costly};
    unsigned many = b->options.workers;
    const struct contender list[] = {
        {"serial", loop_costly, 1},
        {"foldad", user_fold_costly, 1, "serial"},
        {"foldad", user_fold_costly, many, "serial"},
        {"openmp", openmp_costly, many, "serial"},
        {"tbb", tbb_costly, many, "serial"},
    };
    bench_group(b, &(struct group){.name = "fold_costly", .n = n, .unit = "element", .units = (double)n, .problem = &problem,
        .about = "few elements of about 20 us, default leaf; openmp: schedule(dynamic)",
        .outputs = 1, .tolerance = 1e-12, .list = list, .count = BENCH_COUNT(list)});
    free(x);
}

void bench_fold_costly(struct bench *b)
{
    costly_group(b, b->options.quick ? 31 : 127);
    costly_group(b, 7);
    if (!b->options.quick)
        costly_group(b, 1000);
}
