/* Logistic regression, taped: what a recorded operation costs, and how memory grows with the number of rows. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "benches.h"
#include "hand.h"
#include "harness.h"
#include "others.h"
#include "user.h"
#include "work.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void generate(struct logistic_problem *l, size_t n, size_t p)
{
    double *rows = bench_alloc((n * (p + 1) + HAND_SLACK) * sizeof *rows), *theta = bench_alloc(p * sizeof *theta);
    for (size_t j = 0; j < p; j++)
        theta[j] = bench_uniform(j) * 0.5;
    for (size_t i = 0; i < n * (p + 1); i++)
        rows[i] = bench_uniform(1000 + i);
    for (size_t i = 0; i < n; i++)
        rows[i * (p + 1) + p] = rows[i * (p + 1) + p] > 0;
    memset(rows + n * (p + 1), 0, HAND_SLACK * sizeof *rows);
    *l = (struct logistic_problem){n, p, rows, theta};
}

static void discard(struct logistic_problem *l)
{
    free((void *)l->rows);
    free((void *)l->theta);
}

static void logistic_group(struct bench *b, const char *name, bench_call *call, double target_ns, size_t n, size_t p)
{
    struct logistic_problem problem;
    unsigned many = b->options.workers;
    char about[300];
    const struct contender list[] = {
        {"hand_gradient", logistic_gradient, 1, "serial"},
        {"serial", logistic_value, 1, .outputs = 1},
        {"simd_gradient", logistic_simd_gradient, 1, "hand_gradient"},
        {"foldad", call, 1, "hand_gradient", .target = {0, target_ns}},
        {"foldad", call, many, "foldad", .target = {many == 2 && n >= 10000 ? 1 / 1.85 : 0, 0}},
        {"adolc", adolc_logistic, 1, "hand_gradient"},
        {"sacado", sacado_logistic, 1, "hand_gradient"},
    };
    generate(&problem, n, p);
    snprintf(about, sizeof about,
             "gradient over %zu rows in %zu parameters, %zu operations a row. serial: the value alone; adolc: a block\n"
             "# of rows is traced once, then evaluated with each block's data; sacado: RAD, swept after every 16 rows",
             n, p, 2 * p + 5);
    bench_group(b, &(struct group){.name = name, .n = n, .about = about, .unit = "operation", .units = (double)(n * (2 * p + 5)),
        .problem = &problem, .outputs = 1 + p, .tolerance = 1e-9, .list = list, .count = BENCH_COUNT(list)});
    discard(&problem);
}

static void logistic_sizes(struct bench *b, const char *name, bench_call *call, double target_ns)
{
    bool quick = b->options.quick;
    logistic_group(b, name, call, target_ns, quick ? 2000 : 100000, 20);
    logistic_group(b, name, call, target_ns, quick ? 500 : 10000, 20);
    logistic_group(b, name, call, target_ns, quick ? 100 : 1000, 200);
}

void bench_grad_logistic_taped(struct bench *b)
{
    logistic_sizes(b, "grad_logistic_taped", user_logistic, 5.0);
}

void bench_grad_logistic_taped_dot(struct bench *b)
{
    logistic_sizes(b, "grad_logistic_taped_dot", user_logistic_dot, 3.0);
}

static void value_group(struct bench *b, size_t n)
{
    struct logistic_problem problem;
    const struct contender list[] = {
        {"serial", user_logistic_plain, 1},
        {"foldad_value", user_logistic_value, 1, "serial", .target = {1.05, 0}},
        {"serial_dot", user_logistic_dot_plain, 1},
        {"foldad_value_dot", user_logistic_dot_value, 1, "serial_dot", .target = {1.05, 0}},
    };
    generate(&problem, n, 20);
    bench_group(b, &(struct group){.name = "value_only", .n = n, .unit = "element", .units = (double)n, .problem = &problem,
        .about = "log(1 + e^z) - label z on a tape, without derivatives, against the same operations on doubles with\n"
                 "# the same elementary functions; z operation by operation, and dot: by fad_dot",
        .outputs = 1, .tolerance = 1e-9, .list = list, .count = BENCH_COUNT(list)});
    discard(&problem);
}

void bench_value_only(struct bench *b)
{
    value_group(b, b->options.quick ? 2000 : 100000);
    value_group(b, 1000);
}

static void program_group(struct bench *b, size_t n, double must)
{
    struct logistic_problem problem;
    /* a million rows take them seconds */
    struct work w = {.name = "grad_logistic", .about = "log(1 + e^z) - label z, gradient in 20 parameters", .problem = &problem,
                     .serial = logistic_value, .hand_gradient = logistic_gradient, .simd_gradient = logistic_simd_gradient,
                     .adolc = n < 100000 ? adolc_logistic : NULL, .sacado = n < 100000 ? sacado_logistic : NULL, .must = must,
                     .must_create = 1e5};
    generate(&problem, n, 20);
    w.sum = user_logistic_sum(&problem);
    bench_work(b, &w);
    discard(&problem);
}

void bench_grad_logistic(struct bench *b)
{
    if (!b->options.quick) {
        program_group(b, 1000000, 0.70);
        program_group(b, 20480, 0.40);
    }
    program_group(b, 1000, 0);
}

static double peak_bytes(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)r.ru_maxrss * 1024;
}

/* In a child, so that neither earlier peaks nor freed memory count: what the gradient takes beside the data. */
static int memory_of(const struct contender *c, size_t n, double *bytes)
{
    int status, ends[2], rc = 1;
    pid_t child;
    if (pipe(ends) != 0)
        return 1;
    child = fork();
    if (child == 0) {
        struct logistic_problem problem;
        double out[21], before;
        generate(&problem, n, 20);
        before = peak_bytes();
        rc = c->call(&problem, c->workers, out);
        before = peak_bytes() - before;
        _exit(rc || write(ends[1], &before, sizeof before) != sizeof before);
    }
    close(ends[1]);
    if (child > 0 && read(ends[0], bytes, sizeof *bytes) == sizeof *bytes)
        rc = 0;
    close(ends[0]);
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0))
        rc = 1;
    return rc;
}

static int uniform_logistic(void *problem, unsigned workers, double *out)
{
    struct fad_sum s = user_logistic_sum(problem);
    s.uniform = true;
    return fad_sum_gradient(bench_pool(workers), &s, out, out + 1, NULL);
}

void bench_grad_logistic_memory(struct bench *b)
{
    static const size_t sizes[] = {10000, 100000, 1000000};
    const struct contender list[] = {
        {"foldad", user_logistic, 1},
        {"foldad", user_logistic, b->options.workers},
        {"foldad_uniform", uniform_logistic, 1},
        {"foldad_uniform", uniform_logistic, b->options.workers},
        {"adolc", adolc_logistic, 1},
        {"adolc_whole", adolc_logistic_whole, 1},
        {"sacado", sacado_logistic, 1},
        {"sacado_whole", sacado_logistic_whole, 1},
    };
    bench_about(b, "grad_logistic_memory", "peak memory of a gradient in 20 parameters beside its data; bytes, not ns.\n"
                "# _whole: one recording of all rows");
    for (size_t i = 0; i < BENCH_COUNT(list); i++) {
        for (size_t s = 0; s < BENCH_COUNT(sizes) && list[i].call; s++) {
            double bytes = 0;
            struct figure f = {.name = "grad_logistic_memory", .contender = list[i].name, .workers = list[i].workers,
                               .n = sizes[s], .unit = "byte", .samples = &bytes, .count = 1};
            /* A trace of a million rows takes gigabytes. */
            if ((b->options.quick || strncmp(list[i].name, "foldad", 6) != 0) && sizes[s] > 100000)
                continue;
            f.error = memory_of(&list[i], sizes[s], &bytes);
            bench_figure(b, &f);
        }
    }
}
