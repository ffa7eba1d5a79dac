/* See work.h. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the library computes: the problem of its contenders. */
struct run {
    struct fad_sum sum;
    size_t own;
};

static int run_gradient(void *problem, unsigned workers, double *out)
{
    const struct run *r = problem;
    return fad_sum_gradient(bench_pool(workers), &r->sum, out, out + 1, r->own ? out + 1 + r->sum.shared_count : NULL);
}

static int run_value(void *problem, unsigned workers, double *out)
{
    const struct run *r = problem;
    return fad_sum_value(bench_pool(workers), &r->sum, out);
}

/* Sums in different orders: each of n + operations roundings loses u = 2^-53 of a partial sum, which is at most the sum of
 * all absolute values. That is taken to be at most sqrt(n) times what is compared, as if the terms had random signs. */
static double tolerance_of(const struct fad_sum *s)
{
    double n = (double)s->terms;
    return 0x1p-53 * (n + (double)s->term_operations) * sqrt(n);
}

void bench_work(struct bench *b, const struct work *w)
{
    unsigned many = b->options.workers;
    struct run taped = {w->sum, w->own}, program = taped;
    const char *against = w->must_taped > 0 ? "foldad_taped" : "serial", *other = w->must_taped > 0 ? "serial" : "foldad_taped";
    const struct contender list[] = {
        {"hand_gradient", w->hand_gradient, 1, "serial"},
        {"serial", w->serial, 1, .outputs = 1},
        {"simd_gradient", w->simd_gradient, 1, "serial"},
        {"foldad", run_gradient, 1, against, .also = {"hand_gradient", "simd_gradient", other}, .problem = &program,
         .target = {w->must_taped > 0 ? w->must_taped : w->must, 0}},
        {"foldad", run_gradient, many, "foldad", .problem = &program, .target = {many == 2 ? 1 / 1.85 : 0, 0, 1e6}},
        {"foldad_value", run_value, 1, "serial", .also = {"foldad"}, .problem = &program, .outputs = 1},
        {"foldad_taped", run_gradient, 1, "serial", .problem = &taped},
        {"adolc", w->adolc, 1, "serial"},
        {"sacado", w->sacado, 1, "serial"},
    };
    struct contender same[BENCH_COUNT(list)];
    memcpy(same, list, sizeof list);
    for (size_t i = 0; i < BENCH_COUNT(list); i++)
        same[i].results = w;
    program.sum.uniform = true;
    bench_group(b, &(struct group){.name = w->name, .n = w->sum.terms, .about = w->about, .unit = "element",
        .units = (double)w->sum.terms, .problem = w->problem, .outputs = 1 + w->sum.shared_count + w->own,
        .tolerance = tolerance_of(&w->sum), .list = same, .count = BENCH_COUNT(same)});
}
