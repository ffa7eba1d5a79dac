/* nist: a least-squares fit's objective and gradient, on the nonlinear regression sets of NIST's Statistical Reference
 * Datasets, whose answers are certified.
 *
 * It shows: a sum over rows of data with shared parameters (fad_sum_gradient), terms written once and used for value
 * and gradient, and the same bits for every number of workers. For each file it prints the residual sum of squares and
 * its gradient at the certified parameters and at NIST's two starting points, and checks the first against the file.
 *
 *     cc -O2 nist.c nist_models.c nist_file.c text.c common.c -o nist $(pkg-config --cflags --libs libfoldad) -lm
 *     ./nist data/Misra1a.dat data/Thurber.dat */
#define _POSIX_C_SOURCE 200809L
#include "common.h"
#include "nist_models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct program program = {
    "nist",
    "usage: nist [-w WORKERS] FILE...\n"
    "Residual sums of squares and their gradients at the certified parameters and at both starting points of\n"
    "nonlinear regression files of NIST StRD (https://www.itl.nist.gov/div898/strd/).\n"
    "  -w WORKERS  threads that compute, the calling one included; default: FAD_WORKERS, or what the process may use\n"
    "  -h, --help  this text\n"
    "exit code: 0; 1 a sum that does not agree with the file, or a failure; 2 a wrong option or a damaged file\n"};

enum { CERTIFIED, START_1, START_2, POINTS };

/* What is asked of the sum of squares at the certified parameters: both have 11 digits, and rounding the parameters
 * moves the sum by less than 1e-10 of itself, because it is at its minimum there. */
static const double digits_asked = 9, digits_given = 11;
/* What is asked of the gradient there, as a part of that at start 1. */
static const double gradient_asked = 1e-6;

/* At one of the three points. */
struct result {
    const double *parameter;
    double rss;
    double gradient[NIST_PARAMETERS_MAX];
    /* The parameters of one model can differ by ten orders of magnitude (Nelson: 2.6 and 5.6e-9), and so can the
     * components of the gradient; their plain norm is that of the component with the smallest unit. b_j * dF/db_j has
     * the same unit for every j, that of F: it is how F changes with the logarithm of |b_j|. Certified values are
     * rounded to 11 digits, so in this norm the gradient at the optimum shows the rounding of all parameters alike. */
    double scaled_norm;
    double plain_norm;
};

struct fit {
    struct nist_set set;
    const struct nist_model *model;
    struct result at[POINTS];
    double digits, ratio;
    bool good;
};

static double norm(size_t count, const double *scale, const double *v)
{
    double sum = 0;
    for (size_t j = 0; j < count; j++) {
        double entry = scale == NULL ? v[j] : scale[j] * v[j];
        sum += entry * entry;
    }
    return sqrt(sum);
}

static int evaluate(fad_pool *pool, const struct fit *fit, struct result *result)
{
    const struct nist_set *set = &fit->set;
    struct fad_failure failure;
    struct fad_sum sum = {.terms = set->observations, .shared_count = set->parameters, .shared = result->parameter,
                          .x = set->rows, .x_count = 1 + set->predictors, .term = nist_square, .user = (void *)fit->model,
                          .uniform = true, .failure = &failure};
    int status = fad_sum_gradient(pool, &sum, &result->rss, result->gradient, NULL);
    if (status != FAD_OK)
        return failed(&program, set->name, status, &failure);
    result->scaled_norm = norm(set->parameters, result->parameter, result->gradient);
    result->plain_norm = norm(set->parameters, NULL, result->gradient);
    return 0;
}

static int compute(fad_pool *pool, struct fit *fit)
{
    const struct nist_set *set = &fit->set;
    const double *point[POINTS] = {set->certified, set->start[0], set->start[1]};
    for (int i = 0; i < POINTS; i++) {
        fit->at[i].parameter = point[i];
        int code = evaluate(pool, fit, &fit->at[i]);
        if (code != 0)
            return code;
    }
    /* more agreement than the file has digits is chance */
    fit->digits = fmin(digits_given, -log10(fabs(fit->at[CERTIFIED].rss - set->rss) / set->rss));
    fit->ratio = fit->at[CERTIFIED].scaled_norm / fit->at[START_1].scaled_norm;
    fit->good = fit->digits >= digits_asked && fit->ratio < gradient_asked;
    return 0;
}

static void row(const char *label, const char *format, double certified, double start1, double start2)
{
    printf("  %-24s", label);
    printf(format, certified);
    printf(format, start1);
    printf(format, start2);
    putchar('\n');
}

static void print_fit(const struct fit *fit)
{
    const struct nist_set *set = &fit->set;
    const struct result *c = &fit->at[CERTIFIED], *s1 = &fit->at[START_1], *s2 = &fit->at[START_2];
    char label[32];
    printf("%s: %s, %zu observations\n\n", set->name, fit->model->formula, set->observations);
    printf("  %-24s%22s%22s%22s\n", "", "certified parameters", "start 1", "start 2");
    row("sum of squares", "%22.12e", c->rss, s1->rss, s2->rss);
    printf("  %-24s%20.10e\n", "certified by NIST", set->rss);
    printf("  %-24s%22.2f\n", "digits of agreement", fit->digits);
    row("norm of b_j dF/db_j", "%22.3e", c->scaled_norm, s1->scaled_norm, s2->scaled_norm);
    row("  relative to start 1", "%22.3e", fit->ratio, 1, s2->scaled_norm / s1->scaled_norm);
    row("norm of dF/db_j", "%22.3e", c->plain_norm, s1->plain_norm, s2->plain_norm);
    for (size_t j = 0; j < set->parameters; j++) {
        snprintf(label, sizeof label, "b%zu", j + 1);
        row(label, "%22.10e", set->certified[j], set->start[0][j], set->start[1][j]);
    }
    for (size_t j = 0; j < set->parameters; j++) {
        snprintf(label, sizeof label, "dF/db%zu", j + 1);
        row(label, "%22.12e", c->gradient[j], s1->gradient[j], s2->gradient[j]);
    }
    putchar('\n');
}

static uint64_t digest_of(uint64_t hash, const struct fit *fit)
{
    for (int i = 0; i < POINTS; i++) {
        hash = digest(hash, &fit->at[i].rss, 1);
        hash = digest(hash, fit->at[i].gradient, fit->set.parameters);
    }
    return hash;
}

static int report(const struct fit *fits, size_t count)
{
    uint64_t hash = DIGEST_START;
    bool good = true;
    for (size_t i = 0; i < count; i++)
        print_fit(&fits[i]);
    printf("%-12s%20s%28s\n", "data set", "digits of the sum", "gradient left at optimum");
    for (size_t i = 0; i < count; i++) {
        printf("%-12s%20.2f%28.2e%s\n", fits[i].set.name, fits[i].digits, fits[i].ratio,
               fits[i].good ? "" : "  does not agree");
        hash = digest_of(hash, &fits[i]);
        good = good && fits[i].good;
    }
    printf("asked for: %.0f digits or more, %.0e or less\n\n", digits_asked, gradient_asked);
    return finish(&program, hash, good ? EXIT_RIGHT : EXIT_WRONG);
}

/* Everything is read before anything is computed, so that a damaged file leaves no half of a result. */
static int read_all(char *const *paths, size_t count, struct fit *fits)
{
    struct complaint complaint;
    for (size_t i = 0; i < count; i++)
        if (!nist_load_with_model(paths[i], &fits[i].set, &fits[i].model, &complaint)) {
            fprintf(stderr, "%s\n", complaint.text);
            return EXIT_INPUT;
        }
    return 0;
}

static int run(size_t workers, char *const *paths, size_t count, struct fit *fits)
{
    fad_pool *pool = NULL;
    int code = read_all(paths, count, fits);
    if (code != 0)
        return code;
    if (!open_pool(&program, workers, &pool))
        return EXIT_WRONG;
    for (size_t i = 0; i < count && code == 0; i++)
        code = compute(pool, &fits[i]);
    fad_pool_destroy(pool);
    return code != 0 ? code : report(fits, count);
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
    size_t count = (size_t)(argc - optind);
    if (count == 0)
        return refuse(&program, "no data file given");
    struct fit *fits = calloc(count, sizeof *fits);
    if (fits == NULL)
        return failed(&program, "the list of files", FAD_ENOMEM, NULL);
    int code = run(workers, argv + optind, count, fits);
    for (size_t i = 0; i < count; i++)
        nist_release(&fits[i].set);
    free(fits);
    return code;
}
