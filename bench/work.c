/* See work.h. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP 0x1p-10

/* What the library computes: the problem of its contenders. */
struct run {
    struct fad_sum sum;
    size_t own;
    const double *direction; /* in what is shared, then in the elements' own numbers */
    double *scratch;         /* P + own */
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

static int run_jvp(void *problem, unsigned workers, double *out)
{
    const struct run *r = problem;
    const double *own = r->own ? r->direction + r->sum.shared_count : NULL;
    return fad_sum_jvp(bench_pool(workers), &r->sum, r->direction, own, out, out + 1);
}

static int run_hvp(void *problem, unsigned workers, double *out)
{
    const struct run *r = problem;
    return fad_sum_hvp(bench_pool(workers), &r->sum, r->direction, out, r->scratch, out + 1);
}

static int run_create(void *problem, unsigned workers, double *out)
{
    const struct run *r = problem;
    fad_program *p = NULL;
    int rc = fad_program_create(&p, &r->sum);
    (void)workers, (void)out;
    fad_program_destroy(p);
    return rc;
}

/* What the tangent is: the gradient times the direction. */
static int gradient_in_direction(void *problem, unsigned workers, double *out)
{
    const struct run *r = problem;
    size_t P = r->sum.shared_count;
    int rc = fad_sum_gradient(bench_pool(workers), &r->sum, out, r->scratch, r->own ? r->scratch + P : NULL);
    out[1] = 0;
    for (size_t j = 0; j < P + r->own; j++)
        out[1] += r->scratch[j] * r->direction[j];
    return rc;
}

/* The Hessian times the direction, by gradients at four places: off by the fourth power of the step. */
static int gradient_differences(void *problem, unsigned workers, double *out)
{
    static const double place[] = {-2, -1, 1, 2}, weight[] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12};
    const struct run *r = problem;
    size_t P = r->sum.shared_count;
    double *there = bench_alloc(P * sizeof *there);
    struct fad_sum s = r->sum;
    int rc = fad_sum_value(bench_pool(workers), &s, out);
    memset(out + 1, 0, P * sizeof *out);
    s.shared = there;
    for (size_t i = 0; i < BENCH_COUNT(place) && !rc; i++) {
        for (size_t j = 0; j < P; j++)
            there[j] = r->sum.shared[j] + place[i] * STEP * r->direction[j];
        rc = fad_sum_gradient(bench_pool(workers), &s, NULL, r->scratch, NULL);
        for (size_t j = 0; j < P; j++)
            out[1 + j] += weight[i] / STEP * r->scratch[j];
    }
    free(there);
    return rc;
}

/* Sums in different orders: each of n + operations roundings loses u = 2^-53 of a partial sum, which is at most the sum of
 * all absolute values. That is taken to be at most sqrt(n) times what is compared, as if the terms had random signs. */
static double tolerance_of(const struct fad_sum *s)
{
    double n = (double)s->terms;
    return 0x1p-53 * (n + (double)s->term_operations) * sqrt(n);
}

/* Relative to the parameters, which may be of different sizes. */
static void choose_direction(const struct work *w, double *direction)
{
    size_t P = w->sum.shared_count;
    for (size_t j = 0; j < P + w->own; j++)
        direction[j] = (j < P ? w->sum.shared[j] : 0.1) * bench_uniform(7000000 + j);
}

/* Memory that a worker needs for a call. */
static void report_scratch(struct bench *b, const struct work *w, const fad_program *p)
{
    char text[4096];
    size_t bytes;
    size_t length = fad_program_describe(p, text, sizeof text);
    const char *at = length ? strstr(text, "scratch bytes:") : NULL;
    double sample = at && sscanf(at, "scratch bytes: %zu", &bytes) == 1 ? (double)bytes : NAN;
    bench_figure(b, &(struct figure){.name = w->name, .contender = "foldad_scratch", .workers = 1, .n = w->sum.terms,
        .unit = "byte", .samples = &sample, .count = 1, .error = isnan(sample)});
}

void bench_work(struct bench *b, const struct work *w)
{
    unsigned many = b->options.workers;
    size_t inputs = w->sum.shared_count + w->own;
    double *direction = bench_alloc(inputs * sizeof *direction), *scratch = bench_alloc(inputs * sizeof *scratch);
    fad_program *made = NULL;
    struct run taped = {w->sum, w->own, direction, scratch}, program = taped, uniform = taped;
    const char results_jvp = 0, results_hvp = 0, results_none = 0; /* by their addresses */
    double rough = 1000 * tolerance_of(&w->sum); /* a sum of many products, or the difference of two sums over the step */
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
        {"foldad_uniform", run_gradient, 1, "foldad", .problem = &uniform},
        {"foldad_create", run_create, 1, .unit = "program", .units = 1, .problem = &uniform, .results = &results_none,
         .outputs = 1, .target = {0, w->must_create}},
        {"exact_jvp", gradient_in_direction, 1, .problem = &taped, .results = &results_jvp, .outputs = 2, .untimed = true},
        {"foldad_jvp", run_jvp, 1, "foldad", .also = {"serial"}, .problem = &program, .results = &results_jvp, .outputs = 2,
         .tolerance = rough},
        {"exact_hvp", gradient_differences, 1, .problem = &taped, .results = &results_hvp,
         .outputs = 1 + w->sum.shared_count, .untimed = true},
        {"foldad_hvp", run_hvp, 1, "foldad", .also = {"serial"}, .problem = &program, .results = &results_hvp,
         .outputs = 1 + w->sum.shared_count, .tolerance = rough + 0x1p-20, .target = {2.5, 0}},
        {"adolc", w->adolc, 1, "serial"},
        {"sacado", w->sacado, 1, "serial"},
    };
    struct contender same[BENCH_COUNT(list)];
    memcpy(same, list, sizeof list);
    for (size_t i = 0; i < BENCH_COUNT(list); i++)
        same[i].results = same[i].results ? same[i].results : w;
    uniform.sum.uniform = program.sum.uniform = true;
    if (fad_program_create(&made, &uniform.sum) == FAD_OK)
        program.sum.program = made;
    choose_direction(w, direction);
    bench_group(b, &(struct group){.name = w->name, .n = w->sum.terms, .about = w->about, .unit = "element",
        .units = (double)w->sum.terms, .problem = w->problem, .outputs = 1 + w->sum.shared_count + w->own,
        .tolerance = tolerance_of(&w->sum), .list = same, .count = BENCH_COUNT(same)});
    if (made)
        report_scratch(b, w, made);
    fad_program_destroy(made);
    free(direction);
    free(scratch);
}
