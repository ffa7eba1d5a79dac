/* gmm: the objective of a Gaussian mixture and its gradient, on problems of the ADBench benchmark.
 *
 * It shows: a sum over points with many shared parameters, the term and the objective of which are in gmm_model.c. Where
 * FILE.ref lies beside FILE.txt, value and gradient are checked against it.
 *
 *     cc -O2 gmm.c gmm_model.c gmm_file.c text.c common.c -o gmm $(pkg-config --cflags --libs libfoldad) -lm
 *     ./gmm data/mixture.txt */
#define _POSIX_C_SOURCE 200809L
#include "common.h"
#include "gmm_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct program program = {
    "gmm",
    "usage: gmm [-w WORKERS] FILE\n"
    "Objective and gradient of a Gaussian mixture in the format of ADBench. FILE.ref beside FILE.txt (a value, then\n"
    "the gradient, one number a line) is what the results are checked against.\n"
    "  -w WORKERS  threads that compute, the calling one included; default: FAD_WORKERS, or what the process may use\n"
    "  -h, --help  this text\n"
    "exit code: 0; 1 results that do not agree with the reference, or a failure; 2 a wrong option or a damaged file\n"};

/* What is allowed between results and reference: of the value relative, of a component c relative to max(1, |c|). */
static const double value_allowed = 1e-13, component_allowed = 1e-11;

struct result {
    double value;
    double *gradient;  /* parameters values, as in the file */
    double *reference; /* NULL, or the value and then the gradient */
};

static int compute(fad_pool *pool, const struct gmm_problem *p, struct gmm_model *model, struct result *result)
{
    struct fad_failure failure = {.index = SIZE_MAX};
    int status = gmm_objective(model, pool, p->parameter, 1, &result->value, result->gradient, &failure);
    return status == FAD_OK ? 0 : failed(&program, "the objective", status, &failure);
}

static double deviation(double got, double expected)
{
    return fabs(got - expected) / fmax(1, fabs(expected));
}

/* A part of the gradient: its size, and its largest deviation. False: more than is allowed. */
static bool report_part(const char *name, const struct result *r, size_t first, size_t count)
{
    double largest = 0, worst = 0;
    bool good = true;
    for (size_t i = first; i < first + count; i++) {
        largest = fmax(largest, fabs(r->gradient[i]));
        if (r->reference == NULL)
            continue;
        double d = deviation(r->gradient[i], r->reference[1 + i]);
        good = good && d <= component_allowed; /* false for NaN, which fmax leaves out */
        worst = fmax(worst, d);
    }
    printf("  %-20s%10zu%24.12e", name, count, largest);
    if (r->reference != NULL)
        printf("%20.2e%s", worst, good ? "" : "  too much");
    putchar('\n');
    return good;
}

static int report(const struct gmm_problem *p, const struct result *r, const char *reference_path)
{
    size_t k = p->components, d = p->dimension;
    bool good = true;
    printf("%zu points in %zu dimensions, %zu components, %zu parameters\n\n", p->points, d, k, p->parameters);
    printf("  %-20s%34.16e\n", "objective", r->value);
    if (r->reference != NULL) {
        double relative = fabs(r->value - r->reference[0]) / fabs(r->reference[0]);
        good = relative <= value_allowed;
        printf("  %-20s%34.16e\n", "reference", r->reference[0]);
        printf("  %-20s%20.2e%s\n", "relative deviation", relative, good ? "" : "  too much");
    }
    printf("\n  %-20s%10s%24s%20s\n", "gradient", "count", "largest component",
           r->reference != NULL ? "deviation" : "");
    good &= report_part("alpha", r, 0, k);
    good &= report_part("means", r, k, k * d);
    good &= report_part("covariance factors", r, k + k * d, k * p->factor);
    if (r->reference != NULL)
        printf("\n%s: %s (allowed: %.0e of the value, %.0e of max(1, |component|))\n\n", reference_path,
               good ? "agrees" : "does not agree", value_allowed, component_allowed);
    else
        printf("\nnot checked: there is no %s\n\n", reference_path);
    uint64_t hash = digest(digest(DIGEST_START, &r->value, 1), r->gradient, p->parameters);
    return finish(&program, hash, good ? EXIT_RIGHT : EXIT_WRONG);
}

/* "DIR/name.txt" -> "DIR/name.ref"; other names get ".ref" behind them. */
static char *reference_path_of(const char *path)
{
    size_t length = strlen(path);
    char *name = malloc(length + sizeof ".ref");
    if (name == NULL)
        return NULL;
    memcpy(name, path, length + 1);
    if (length > 4 && strcmp(name + length - 4, ".txt") == 0)
        length -= 4;
    memcpy(name + length, ".ref", sizeof ".ref");
    return name;
}

/* Leaves r->reference NULL where there is no such file. */
static bool load_reference(const char *path, const struct gmm_problem *p, struct result *r, struct complaint *complaint)
{
    char *data;
    size_t size;
    if (access(path, F_OK) != 0)
        return true;
    if (!text_load(path, &data, &size, complaint))
        return false;
    double *reference = calloc(1 + p->parameters, sizeof *reference);
    bool good = reference != NULL ? gmm_parse_reference(data, size, path, 1 + p->parameters, reference, complaint)
                                  : text_complain(complaint, path, 0, "no memory for %zu numbers", p->parameters);
    free(data);
    if (good)
        r->reference = reference;
    else
        free(reference);
    return good;
}

/* With the problem and its reference read. */
static int solve(size_t workers, const struct gmm_problem *p, struct result *r, const char *reference_path)
{
    fad_pool *pool = NULL;
    struct gmm_model model;
    int code = EXIT_WRONG;
    r->gradient = calloc(p->parameters, sizeof *r->gradient);
    if (!gmm_model_init(&model, p) || r->gradient == NULL)
        failed(&program, "making room for the results", FAD_ENOMEM, NULL);
    else if (open_pool(&program, workers, &pool))
        code = compute(pool, p, &model, r);
    fad_pool_destroy(pool);
    gmm_model_fini(&model);
    return code != 0 ? code : report(p, r, reference_path);
}

static int run(size_t workers, const char *path)
{
    struct gmm_problem problem = {0};
    struct result result = {0};
    struct complaint complaint;
    char *reference_path = reference_path_of(path);
    int code = EXIT_INPUT;
    if (reference_path == NULL)
        code = failed(&program, path, FAD_ENOMEM, NULL);
    else if (gmm_load(path, &problem, &complaint) && load_reference(reference_path, &problem, &result, &complaint))
        code = solve(workers, &problem, &result, reference_path);
    else
        fprintf(stderr, "%s\n", complaint.text);
    gmm_release(&problem);
    free(result.gradient);
    free(result.reference);
    free(reference_path);
    return code;
}

int main(int argc, char **argv)
{
    size_t workers = 0;
    for (int got; (got = option_next(argc, argv, ":w:h")) != -1;) {
        if (got != 'w')
            return option_other(&program, got, argv);
        if (!option_count(&program, 'w', optarg, 1, FAD_WORKERS_MAX, &workers))
            return EXIT_INPUT;
    }
    if (argc - optind != 1)
        return refuse(&program, argc == optind ? "no data file given" : "more than one data file");
    return run(workers, argv[optind]);
}
