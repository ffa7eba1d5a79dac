/* A sum of many small models, differentiated in what they share and in each one's own parameters. */
#include "benches.h"
#include "hand.h"
#include "harness.h"
#include "user.h"
#include "work.h"

#include <stdlib.h>

static void generate(struct models_problem *m, size_t n)
{
    size_t *offset = bench_alloc((n + 1) * sizeof *offset);
    double *x = bench_alloc(4 * n * sizeof *x);
    offset[0] = 0;
    for (size_t k = 0; k < n; k++) {
        double *own = x + offset[k];
        offset[k + 1] = offset[k] + (k % 3 == 2 ? 4 : 3);
        own[0] = 1.5 + bench_uniform(4 * k);
        own[1] = 2 * bench_uniform(4 * k + 1);
        own[2] = 1.25 + bench_uniform(4 * k + 2);
        if (k % 3 == 2)
            own[3] = 0.5 + 0.5 * bench_uniform(4 * k + 3);
    }
    *m = (struct models_problem){n, 0.3, offset, x};
}

static void models_group(struct bench *b, const char *name, bench_call *call, size_t n)
{
    struct models_problem problem;
    unsigned many = b->options.workers;
    const struct contender list[] = {
        {"hand_gradient", models_gradient, 1, "serial"},
        {"serial", models_value, 1, .outputs = 1},
        {"foldad", call, 1, "hand_gradient"},
        {"foldad", call, many, "foldad", .target = {many == 2 && n >= 100000 ? 1 / 1.8 : 0, 0}},
    };
    generate(&problem, n);
    bench_group(b, &(struct group){.name = name, .n = n, .unit = "element", .units = (double)n, .problem = &problem,
        .about = "peaks of three kinds with 3, 3 and 4 parameters, gradient in the place and in all of these;\n"
                 "# serial: the value alone",
        .outputs = 2 + problem.offset[n], .tolerance = 1e-11, .list = list, .count = BENCH_COUNT(list)});
    user_models_forget();
    free((void *)problem.offset);
    free((void *)problem.x);
}

void bench_grad_models(struct bench *b)
{
    models_group(b, "grad_models", user_models, b->options.quick ? 3000 : 100000);
    models_group(b, "grad_models", user_models, 1000);
}

void bench_grad_models_blocks(struct bench *b)
{
    models_group(b, "grad_models_blocks", user_models_blocks, b->options.quick ? 3000 : 100000);
    models_group(b, "grad_models_blocks", user_models_blocks, 1000);
}

static void uniform_group(struct bench *b, size_t n)
{
    struct models_problem problem;
    uint32_t *kind = bench_alloc(n * sizeof *kind);
    struct work w = {.name = "grad_models_uniform", .problem = &problem, .serial = models_value, .hand_gradient = models_gradient,
                     .must_taped = 1.0 / 8, .must_create = 1e5,
                     .about = "the peaks of grad_models, with kinds: each kind does the same operations"};
    generate(&problem, n);
    for (size_t k = 0; k < n; k++)
        kind[k] = k % 3;
    w.own = problem.offset[n];
    w.sum = user_models_sum(&problem);
    w.sum.kind = kind;
    bench_work(b, &w);
    free(kind);
    free((void *)problem.offset);
    free((void *)problem.x);
}

void bench_grad_models_uniform(struct bench *b)
{
    uniform_group(b, b->options.quick ? 3000 : 100000);
    uniform_group(b, 1000);
}
