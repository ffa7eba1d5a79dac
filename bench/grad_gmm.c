/* Gaussian mixtures, taped: terms of some hundreds to some thousands of operations. */
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

static void generate(struct gmm_problem *g, size_t n, size_t d, size_t K)
{
    size_t p = K * (1 + 2 * d + d * (d - 1) / 2);
    double *points = bench_alloc(n * d * sizeof *points), *theta = bench_alloc(p * sizeof *theta);
    for (size_t i = 0; i < n * d; i++)
        points[i] = 2 * bench_uniform(i);
    for (size_t j = 0; j < p; j++)
        theta[j] = 0.7 * bench_uniform(1000000 + j);
    *g = (struct gmm_problem){n, d, K, p, points, theta};
}

static void gmm_group(struct bench *b, const char *name, size_t n, size_t d, size_t K)
{
    struct gmm_problem problem;
    unsigned many = b->options.workers;
    char about[200];
    const struct contender list[] = {
        {"hand_gradient", gmm_gradient, 1, "serial"},
        {"serial", gmm_value, 1, .outputs = 1},
        {"simd_gradient", gmm_simd_gradient, 1, "serial"},
        {"foldad", user_gmm, 1, "hand_gradient"},
        {"foldad", user_gmm, many, "foldad"},
        {"adolc", adolc_gmm, 1, "hand_gradient"},
        {"sacado", sacado_gmm, 1, "hand_gradient"},
    };
    generate(&problem, n, d, K);
    snprintf(about, sizeof about, "%zu points, d = %zu, K = %zu, gradient in %zu parameters; serial: the value alone", n, d, K,
             problem.p);
    bench_group(b, &(struct group){.name = name, .n = n, .about = about, .unit = "element", .units = (double)n,
        .problem = &problem, .outputs = 1 + problem.p, .tolerance = 1e-10, .list = list, .count = BENCH_COUNT(list)});
    free((void *)problem.points);
    free((void *)problem.theta);
}

static void program_group(struct bench *b, const char *name, size_t n, size_t d, size_t K, double must)
{
    struct gmm_problem problem;
    struct work w = {.name = name, .about = "points of a Gaussian mixture, gradient in all parameters", .problem = &problem,
                     .serial = gmm_value, .hand_gradient = gmm_gradient, .simd_gradient = gmm_simd_gradient, .adolc = adolc_gmm,
                     .sacado = sacado_gmm, .must = must, .must_create = 3e7};
    generate(&problem, n, d, K);
    w.sum = user_gmm_sum(&problem);
    bench_work(b, &w);
    free((void *)problem.points);
    free((void *)problem.theta);
}

void bench_grad_gmm_10_25(struct bench *b)
{
    program_group(b, "grad_gmm_10_25", b->options.quick ? 50 : 1000, 10, 25, 0.55);
}

void bench_grad_gmm_20_50(struct bench *b)
{
    program_group(b, "grad_gmm_20_50", b->options.quick ? 50 : 1000, 20, 50, 0.65);
}

void bench_grad_gmm_taped(struct bench *b)
{
    size_t n = b->options.quick ? 50 : 1000;
    gmm_group(b, "grad_gmm_taped", n, 10, 25);
    gmm_group(b, "grad_gmm_taped_d2_K5", n, 2, 5);
}
