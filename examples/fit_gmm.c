/* The part of fit.c that fits a Gaussian mixture by NLopt's L-BFGS. */
#define _POSIX_C_SOURCE 200809L
#include "fit.h"
#include "gmm_model.h"

#include <nlopt.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The pairs of steps and gradients that L-BFGS keeps. Left to itself, NLopt would take all that fit into 10 MB: tens of
 * thousands for a small problem, and a step would take longer than an evaluation. */
enum { MEMORY = 50 };

/* A point with its value and gradient. */
struct point {
    double value, largest; /* component of the gradient */
    double *parameter;
};

struct fit {
    const struct gmm_problem *problem;
    const struct fit_options *options;
    const char *path, *name; /* the same without its directories */
    fad_pool *pool;
    struct gmm_model model;
    struct progress progress;
    nlopt_opt solver;
    struct point start, best;
    double *gradient;
    size_t steps;
    uint64_t hash; /* of every point that was evaluated */
    enum ending ending;
};

static double largest(const double *values, size_t count)
{
    double most = 0;
    for (size_t i = 0; i < count; i++)
        if (!(fabs(values[i]) <= most)) /* so that a NaN stays */
            most = fabs(values[i]);
    return most;
}

static double relative_gradient(const struct fit *fit)
{
    return fit->best.largest / fmax(1, fit->start.largest);
}

static void stop(struct fit *fit, enum ending ending)
{
    fit->ending = ending;
    nlopt_force_stop(fit->solver);
}

/* What the point tells: whether it is the best one so far, and whether that is good enough. */
static void judge(struct fit *fit, const double *parameter, double value)
{
    size_t count = fit->problem->parameters;
    struct point *best = &fit->best;
    fit->hash = digest(digest(fit->hash, parameter, count), &value, 1);
    if (fit->steps++ == 0 || value < best->value) {
        best->value = value;
        best->largest = largest(fit->gradient, count);
        memcpy(best->parameter, parameter, count * sizeof *parameter);
        if (fit->steps == 1)
            fit->start = *best;
    }
    progress_step(&fit->progress, fit->steps, "%s: step %zu, best %.10e, gradient %.1e", fit->name, fit->steps,
                  best->value, relative_gradient(fit));
    if (interrupted())
        stop(fit, INTERRUPTED);
    else if (relative_gradient(fit) <= fit->options->tolerance)
        stop(fit, CONVERGED);
    else if (fit->steps >= fit->options->steps) /* NLopt's own limit is looked at between line searches only */
        stop(fit, OUT_OF_STEPS);
}

/* What NLopt calls. */
static double objective(unsigned count, const double *parameter, double *gradient, void *user)
{
    struct fit *fit = user;
    struct fad_failure failure = {.index = SIZE_MAX};
    double value;
    if (fit->ending != STUCK) /* it has been told to stop, and may not do so at once */
        return HUGE_VAL;
    int status = gmm_objective(&fit->model, fit->pool, parameter, -1, &value, fit->gradient, &failure);
    if (status != FAD_OK) {
        failed(&fit_program, fit->path, status, &failure);
        stop(fit, FAILED);
        return HUGE_VAL;
    }
    judge(fit, parameter, value);
    /* for each point: the solver's first step is as long as the gradient, which must not grow with the data */
    double each = 1.0 / (double)fit->problem->points;
    for (unsigned i = 0; gradient != NULL && i < count; i++)
        gradient[i] = each * fit->gradient[i];
    return isfinite(value) ? each * value : HUGE_VAL;
}

static bool make_room(struct fit *fit, double **x)
{
    const struct gmm_problem *p = fit->problem;
    fit->gradient = calloc(p->parameters, sizeof *fit->gradient);
    fit->best.parameter = calloc(p->parameters, sizeof *fit->best.parameter);
    *x = calloc(p->parameters, sizeof **x);
    fit->solver = p->parameters <= UINT32_MAX ? nlopt_create(NLOPT_LD_LBFGS, (unsigned)p->parameters) : NULL;
    return gmm_model_init(&fit->model, p) && fit->gradient != NULL && fit->best.parameter != NULL && *x != NULL &&
           fit->solver != NULL && nlopt_set_min_objective(fit->solver, objective, fit) == NLOPT_SUCCESS &&
           nlopt_set_vector_storage(fit->solver, MEMORY) == NLOPT_SUCCESS;
}

/* The best point is in fit->best, whatever NLopt returns. */
static void solve(struct fit *fit, double *x)
{
    double value;
    memcpy(x, fit->problem->parameter, fit->problem->parameters * sizeof *x);
    fit->ending = STUCK; /* unless something else stops it */
    progress_start(&fit->progress, fit->options->quiet);
    nlopt_result result = nlopt_optimize(fit->solver, x, &value);
    if (result == NLOPT_OUT_OF_MEMORY) {
        failed(&fit_program, fit->path, FAD_ENOMEM, NULL);
        fit->ending = FAILED;
    }
    progress_clear(&fit->progress);
    if (fit->ending == CONVERGED)
        progress_end(&fit->progress, "%s: converged after %zu steps, objective %.10e", fit->name, fit->steps,
                     fit->best.value);
    complain_of_ending(fit->ending, fit->path, fit->steps, relative_gradient(fit), fit->options->tolerance);
}

/* Weight and mean of each component. */
static void print_components(const struct gmm_problem *p, const double *parameter)
{
    double most = -HUGE_VAL, sum = 0;
    for (size_t c = 0; c < p->components; c++)
        most = fmax(most, parameter[c]);
    for (size_t c = 0; c < p->components; c++)
        sum += exp(parameter[c] - most);
    printf("\n  %-12s%10s  %s\n", "component", "weight", "mean");
    for (size_t c = 0; c < p->components; c++) {
        printf("  %-12zu%10.6f ", c + 1, exp(parameter[c] - most) / sum);
        for (size_t i = 0; i < p->dimension; i++)
            printf("%12.6f", parameter[p->components + c * p->dimension + i]);
        putchar('\n');
    }
}

static int report(const struct fit *fit)
{
    const struct gmm_problem *p = fit->problem;
    printf("%zu points in %zu dimensions, %zu components, %zu parameters\n\n", p->points, p->dimension, p->components,
           p->parameters);
    printf("  %-22s%24s%24s\n", "", "at the start", "found");
    printf("  %-22s%24.14e%24.14e\n", "objective", fit->start.value, fit->best.value);
    printf("  %-22s%24.3e%24.3e\n", "largest |dF/dp_j|", fit->start.largest, fit->best.largest);
    printf("  %-22s%24s%24.3e\n", "relative gradient", "", relative_gradient(fit));
    print_components(p, fit->best.parameter);
    printf("\n%s after %zu steps\n", ending_word(fit->ending), fit->steps);
    uint64_t hash = digest(digest(fit->hash, &fit->best.value, 1), fit->best.parameter, p->parameters);
    return finish(&fit_program, hash, ending_code(fit->ending));
}

int fit_gmm(const struct fit_options *options, const char *path)
{
    struct gmm_problem problem;
    struct complaint complaint;
    if (!gmm_load(path, &problem, &complaint)) {
        fprintf(stderr, "%s\n", complaint.text);
        return EXIT_INPUT;
    }
    const char *slash = strrchr(path, '/');
    struct fit fit = {.problem = &problem, .options = options, .path = path, .name = slash != NULL ? slash + 1 : path,
                      .hash = DIGEST_START, .ending = FAILED};
    double *x = NULL;
    if (!make_room(&fit, &x))
        failed(&fit_program, "making room for the fit", FAD_ENOMEM, NULL);
    else if (open_pool(&fit_program, options->workers, &fit.pool))
        solve(&fit, x);
    fad_pool_destroy(fit.pool);
    gmm_model_fini(&fit.model);
    nlopt_destroy(fit.solver);
    int code = fit.ending == FAILED ? EXIT_WRONG : report(&fit);
    free(fit.gradient);
    free(fit.best.parameter);
    free(x);
    gmm_release(&problem);
    return code;
}
