/* A sum of models with parameters of their own, all of the same form: most of the gradient is the elements'. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "benches.h"
#include "hand.h"
#include "others.h"
#include "user.h"
#include "work.h"

#include <stdlib.h>

enum { D = 8, CENTRES = 4 };

static void rbf_group(struct bench *b, size_t n)
{
    double at[D], *x = bench_alloc(n * CENTRES * (D + 1) * sizeof *x);
    struct rbf_problem problem = {n, D, CENTRES, at, x};
    struct work w = {.name = "grad_rbf", .problem = &problem, .serial = rbf_value, .hand_gradient = rbf_gradient,
                     .simd_gradient = rbf_simd_gradient, .adolc = adolc_rbf, .sacado = sacado_rbf, .must = 0.90,
                     .must_create = 1e5, .own = n * CENTRES * (D + 1),
                     .about = "sum of models, each of 4 centres in 8 dimensions with their weights, gradient in the place\n"
                              "# and in every model's 36 parameters"};
    for (size_t i = 0; i < D; i++)
        at[i] = 0.5 * bench_uniform(i);
    for (size_t i = 0; i < w.own; i++)
        x[i] = bench_uniform(100 + i);
    w.sum = user_rbf_sum(&problem);
    bench_work(b, &w);
    free(x);
}

void bench_grad_rbf(struct bench *b)
{
    rbf_group(b, b->options.quick ? 500 : 10000);
    rbf_group(b, 1000);
}
