/* Curve fits: terms of few operations, some of which are elementary functions or divisions. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "benches.h"
#include "hand.h"
#include "others.h"
#include "user.h"
#include "work.h"

#include <stdlib.h>

struct fit {
    const char *name, *about;
    double low, high; /* places */
    const double *theta;
    size_t p;
    struct fad_sum (*sum)(const struct fit_problem *f);
    bench_call *serial, *hand_gradient, *simd_gradient, *adolc, *sacado;
    double must;
};

/* The observations are the model's with half of the parameter that scales it, and noise. */
static void generate(const struct fit *f, size_t n, struct fit_problem *problem)
{
    double *data = bench_alloc(2 * n * sizeof *data);
    for (size_t k = 0; k < n; k++) {
        data[2 * k] = f->low + (f->high - f->low) * 0.5 * (1 + bench_uniform(2 * k));
        data[2 * k + 1] = f->theta[0] * (0.5 + 0.25 * bench_uniform(2 * k + 1));
    }
    *problem = (struct fit_problem){n, f->p, data, f->theta};
}

static void fit_group(struct bench *b, const struct fit *f, size_t n)
{
    struct fit_problem problem;
    struct work w = {.name = f->name, .about = f->about, .problem = &problem, .serial = f->serial,
                     .hand_gradient = f->hand_gradient, .simd_gradient = f->simd_gradient, .adolc = f->adolc,
                     .sacado = f->sacado, .must = f->must, .must_create = 1e5};
    generate(f, n, &problem);
    w.sum = f->sum(&problem);
    bench_work(b, &w);
    free((void *)problem.data);
}

static void fit(struct bench *b, const struct fit *f)
{
    fit_group(b, f, b->options.quick ? 2000 : 100000);
    fit_group(b, f, 1000);
}

static int by_rule(void *problem, unsigned workers, double *out)
{
    struct fad_sum s = user_line_rule_sum(problem);
    return fad_sum_gradient(bench_pool(workers), &s, out, out + 1, NULL);
}

static int by_tape(void *problem, unsigned workers, double *out)
{
    struct fad_sum s = user_line_sum(problem);
    return fad_sum_gradient(bench_pool(workers), &s, out, out + 1, NULL);
}

static void rule_group(struct bench *b, size_t n)
{
    static const double theta[] = {2.5};
    const struct fit f = {.low = 0, .high = 4, .theta = theta, .p = 1};
    struct fit_problem problem;
    const struct contender list[] = {
        {"hand_gradient", line_gradient, 1},
        {"foldad_rule", by_rule, 1, "hand_gradient", .also = {"foldad_taped"}},
        {"foldad_rule", by_rule, 1, "hand_gradient", "hand_gradient", "rule", (double)n, .target = {0, 20}},
        {"foldad_taped", by_tape, 1, "hand_gradient"},
    };
    generate(&f, n, &problem);
    bench_group(b, &(struct group){.name = "grad_rule", .n = n, .unit = "element", .units = (double)n, .problem = &problem,
        .about = "squared residuals of b1 x, gradient in 1 parameter, as a term's rule. Unit rule: the time over that of the\n"
                 "# loop by hand, an element",
        .outputs = 2, .tolerance = 1e-9, .list = list, .count = BENCH_COUNT(list)});
    free((void *)problem.data);
}

void bench_grad_rule(struct bench *b)
{
    rule_group(b, b->options.quick ? 2000 : 100000);
    rule_group(b, 1000);
}

void bench_grad_misra(struct bench *b)
{
    static const double theta[] = {238.9, 5.5e-4}; /* Misra1a of NIST's StRD: places and about the certified values */
    fit(b, &(struct fit){"grad_misra", "squared residuals of b1 (1 - e^(-b2 x)), gradient in 2 parameters", 77, 760, theta, 2,
        user_misra_sum, misra_value, misra_gradient, misra_simd_gradient, adolc_misra, sacado_misra, 0.55});
}

void bench_grad_expcos(struct bench *b)
{
    static const double theta[] = {2.5, 0.4, 3.0};
    fit(b, &(struct fit){"grad_expcos", "squared residuals of b1 e^(-b2 x) cos(b3 x), gradient in 3 parameters", 0, 4, theta, 3,
        user_expcos_sum, expcos_value, expcos_gradient, expcos_simd_gradient, adolc_expcos, sacado_expcos, 0.50});
}

void bench_grad_rational(struct bench *b)
{
    /* Thurber of NIST's StRD: places and about the certified values */
    static const double theta[] = {1288.1, 1491.1, 583.24, 75.417, 0.96630, 0.39797, 0.049727};
    fit(b, &(struct fit){"grad_rational", "squared residuals of a cubic over a cubic, gradient in 7 parameters", -3.1, 2.2, theta,
        7, user_rational_sum, rational_value, rational_gradient, rational_simd_gradient, adolc_rational, sacado_rational, 2.5});
}
