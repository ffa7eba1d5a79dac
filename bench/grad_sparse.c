/* Many parameters of which each term reads a few: the cost should follow the terms, not the parameters. */
#include "benches.h"
#include "hand.h"
#include "harness.h"
#include "user.h"

#include <stdlib.h>

enum { MANY = 100000, FEW = 1000 };

static void generate(struct sparse_problem *s, size_t n, size_t p)
{
    double *theta = bench_alloc(p * sizeof *theta), *x = bench_alloc(n * (SPARSE_TOUCHED + 1) * sizeof *x);
    uint32_t *touch = bench_alloc(n * SPARSE_TOUCHED * sizeof *touch);
    for (size_t j = 0; j < p; j++)
        theta[j] = bench_uniform(j);
    for (size_t i = 0; i < n * (SPARSE_TOUCHED + 1); i++)
        x[i] = bench_uniform(200000 + i);
    for (size_t k = 0; k < n; k++) {
        uint32_t at = (uint32_t)(bench_hash(k) % (p - SPARSE_TOUCHED + 1));
        for (uint32_t j = 0; j < SPARSE_TOUCHED; j++)
            touch[k * SPARSE_TOUCHED + j] = at + j;
    }
    *s = (struct sparse_problem){n, p, theta, x, touch};
}

static void discard(struct sparse_problem *s)
{
    free((void *)s->theta);
    free((void *)s->x);
    free((void *)s->touch);
}

static void sparse_group(struct bench *b, const char *name, bench_call *call, size_t n)
{
    struct sparse_problem large, small;
    unsigned many = b->options.workers;
    double factor = n >= 100000 ? 2 : 0;
    const struct contender list[] = {
        {"hand_gradient", sparse_gradient, 1},
        {"serial", sparse_value, 1, "hand_gradient", .outputs = 1},
        {"foldad", call, 1, "foldad_p1000", .target = {factor, 0}},
        {"foldad", call, many, "foldad_p1000"},
        {"hand_p1000", sparse_gradient, 1, .problem = &small, .outputs = 1 + FEW},
        {"foldad_p1000", call, 1, "hand_p1000", .problem = &small, .outputs = 1 + FEW},
        {"foldad_p1000", call, many, "foldad_p1000", .problem = &small, .outputs = 1 + FEW},
    };
    generate(&large, n, MANY);
    generate(&small, n, FEW);
    bench_group(b, &(struct group){.name = name, .n = n, .unit = "element", .units = (double)n, .problem = &large,
        .about = "each term reads 10 neighbours somewhere among 100,000 shared parameters, _p1000 among 1,000",
        .outputs = 1 + MANY, .tolerance = 1e-10, .list = list, .count = BENCH_COUNT(list)});
    discard(&large);
    discard(&small);
}

void bench_grad_sparse(struct bench *b)
{
    sparse_group(b, "grad_sparse", user_sparse, b->options.quick ? 5000 : 100000);
    sparse_group(b, "grad_sparse", user_sparse, b->options.quick ? 500 : 10000);
}

void bench_grad_sparse_touch(struct bench *b)
{
    sparse_group(b, "grad_sparse_touch", user_sparse_touch, b->options.quick ? 5000 : 100000);
    sparse_group(b, "grad_sparse_touch", user_sparse_touch, b->options.quick ? 500 : 10000);
}
