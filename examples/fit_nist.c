/* The part of fit.c that solves NIST's data sets by GSL's nonlinear least squares. */
#define _POSIX_C_SOURCE 200809L
#include "fit.h"
#include "nist_models.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit_nlinear.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The digits that a certified parameter has, and those that are asked for. */
static const double digits_given = 11, digits_asked = 7;
/* The size of a residual that is no number: squares of such ones can still be added, and a step to there is not taken. */
static const double residual_most = 1e140;

/* One fit, from one starting point. */
struct fit {
    const struct nist_set *set;
    const struct nist_model *model;
    fad_pool *pool;
    char label[NIST_NAME_MAX + 16];
    double found[NIST_PARAMETERS_MAX], rss, gradient, digits;
    size_t steps;
    uint64_t path; /* a digest of every point on the way */
    enum ending ending;
    int status; /* of the library's call that failed, with the failure */
    struct fad_failure failure;
};

/* A data set and its fits: one a start. */
struct job {
    struct nist_set set;
    const struct nist_model *model;
    struct fit fit[2];
    bool done[2];
};

/* What a solver works with. */
struct space {
    gsl_multifit_nlinear_workspace *solver;
    gsl_vector *x, *f, *step, *left, *tau; /* for the last steps, see polish */
    gsl_matrix *jacobian, *qr;
};

/* ---- what GSL calls ---- */

/* Both outputs are rows in order, as GSL keeps them; either may be NULL. */
static int terms(struct fit *fit, const gsl_vector *x, double *residuals, double *jacobian)
{
    const struct nist_set *set = fit->set;
    double b[NIST_PARAMETERS_MAX];
    struct fad_sum sum = {.terms = set->observations, .shared_count = set->parameters, .shared = b, .x = set->rows,
                          .x_count = 1 + set->predictors, .term = fit->model->residual, .uniform = true,
                          .failure = &fit->failure};
    for (size_t j = 0; j < set->parameters; j++)
        b[j] = gsl_vector_get(x, j);
    fit->status = fad_sum_terms(fit->pool, &sum, residuals, jacobian);
    return fit->status == FAD_OK ? GSL_SUCCESS : GSL_EFAILED;
}

static int residuals_at(const gsl_vector *x, void *user, gsl_vector *f)
{
    if (f->stride != 1)
        return GSL_EINVAL;
    int status = terms(user, x, f->data, NULL);
    for (size_t i = 0; status == GSL_SUCCESS && i < f->size; i++)
        if (!(fabs(f->data[i]) < residual_most))
            f->data[i] = residual_most;
    return status;
}

static int jacobian_at(const gsl_vector *x, void *user, gsl_matrix *jacobian)
{
    return jacobian->tda == jacobian->size2 ? terms(user, x, NULL, jacobian->data) : GSL_EINVAL;
}

/* ---- one fit ---- */

/* The relative gradient: the largest cosine of the angle between the residuals and a column of the Jacobian. It has no
 * unit, so parameters of any size count alike. */
static double angle(gsl_matrix *jacobian, const gsl_vector *f)
{
    double largest = 0, length = gsl_blas_dnrm2(f);
    if (length == 0)
        return 0;
    for (size_t j = 0; j < jacobian->size2; j++) {
        gsl_vector_view column = gsl_matrix_column(jacobian, j);
        double along, width = gsl_blas_dnrm2(&column.vector);
        gsl_blas_ddot(&column.vector, f, &along);
        double cosine = width == 0 ? 0 : fabs(along) / (width * length);
        if (!(cosine <= largest)) /* so that a NaN stays */
            largest = cosine;
    }
    return largest;
}

/* Keeps a point that the solver has gone to. */
static void keep(struct fit *fit, const gsl_vector *x, const gsl_vector *f, gsl_matrix *jacobian)
{
    size_t count = fit->set->parameters;
    double length = gsl_blas_dnrm2(f);
    for (size_t j = 0; j < count; j++)
        fit->found[j] = gsl_vector_get(x, j);
    fit->rss = length * length;
    fit->gradient = angle(jacobian, f);
    fit->path = digest(digest(fit->path, fit->found, count), &fit->rss, 1);
}

static enum ending iterate(struct fit *fit, const struct fit_options *options, gsl_multifit_nlinear_workspace *solver,
                           struct progress *progress)
{
    while (fit->steps < options->steps) {
        int info, status = gsl_multifit_nlinear_iterate(solver);
        if (fit->status != FAD_OK)
            return FAILED;
        fit->steps++;
        keep(fit, solver->x, solver->f, solver->J);
        progress_step(progress, fit->steps, "%s: step %zu, sum of squares %.8e, gradient %.1e", fit->label, fit->steps,
                      fit->rss, fit->gradient);
        if (interrupted())
            return INTERRUPTED;
        /* steps as small as rounding, or sums of squares that differ by rounding only: what there is to find this way has
         * been found */
        if (status != GSL_SUCCESS || gsl_multifit_nlinear_test(1e-13, 0, 0, &info, solver) == GSL_SUCCESS)
            return STUCK;
    }
    return OUT_OF_STEPS;
}

/* Where sums of squares are equal but for rounding, the parameters have half of their digits, because the sum is flat
 * there. The gradient is not: Gauss-Newton steps, for as long as they make it clearly smaller, find the other half. */
static bool polish(struct fit *fit, struct space *space)
{
    gsl_vector_memcpy(space->x, space->solver->x);
    gsl_vector_memcpy(space->f, space->solver->f);
    gsl_matrix_memcpy(space->jacobian, space->solver->J);
    for (;;) {
        gsl_matrix_memcpy(space->qr, space->jacobian);
        if (gsl_linalg_QR_decomp(space->qr, space->tau) != GSL_SUCCESS ||
            gsl_linalg_QR_lssolve(space->qr, space->tau, space->f, space->step, space->left) != GSL_SUCCESS)
            return true;
        gsl_vector_sub(space->x, space->step);
        if (residuals_at(space->x, fit, space->f) != GSL_SUCCESS ||
            jacobian_at(space->x, fit, space->jacobian) != GSL_SUCCESS)
            return false;
        double length = gsl_blas_dnrm2(space->f);
        if (!(angle(space->jacobian, space->f) < 0.95 * fit->gradient) ||
            !(length * length <= fit->rss * (1 + 1e-10)))
            return true;
        fit->steps++;
        keep(fit, space->x, space->f, space->jacobian);
    }
}

static void compare(struct fit *fit)
{
    const struct nist_set *set = fit->set;
    fit->digits = digits_given;
    for (size_t j = 0; j < set->parameters; j++) {
        double deviation = fabs(fit->found[j] - set->certified[j]) / fabs(set->certified[j]);
        if (!(-log10(deviation) >= fit->digits)) /* so that a NaN counts */
            fit->digits = isfinite(deviation) ? -log10(deviation) : -INFINITY;
    }
}

static enum ending solve(struct fit *fit, const double *start, const struct fit_options *options, struct space *space)
{
    const struct nist_set *set = fit->set;
    struct progress progress;
    gsl_multifit_nlinear_fdf functions = {.f = residuals_at, .df = jacobian_at, .n = set->observations,
                                          .p = set->parameters, .params = fit};
    gsl_vector_const_view from = gsl_vector_const_view_array(start, set->parameters);
    progress_start(&progress, options->quiet);
    if (gsl_multifit_nlinear_init(&from.vector, &functions, space->solver) != GSL_SUCCESS)
        return FAILED;
    keep(fit, space->solver->x, space->solver->f, space->solver->J);
    enum ending ending = iterate(fit, options, space->solver, &progress);
    if (ending == STUCK && !polish(fit, space))
        ending = FAILED;
    if (ending != FAILED && ending != INTERRUPTED && fit->gradient <= options->tolerance)
        ending = CONVERGED;
    progress_clear(&progress);
    if (ending == CONVERGED)
        progress_end(&progress, "%s: converged after %zu steps, sum of squares %.8e", fit->label, fit->steps, fit->rss);
    complain_of_ending(ending, fit->label, fit->steps, fit->gradient, options->tolerance);
    compare(fit);
    return ending;
}

/* ---- all of them ---- */

static bool make_space(struct space *space, size_t n, size_t p)
{
    gsl_multifit_nlinear_parameters choice = gsl_multifit_nlinear_default_parameters();
    /* with acceleration the narrow curved valleys of MGH10 take a tenth of the steps */
    choice.trs = gsl_multifit_nlinear_trs_lmaccel;
    space->solver = gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &choice, n, p);
    space->x = gsl_vector_alloc(p);
    space->f = gsl_vector_alloc(n);
    space->step = gsl_vector_alloc(p);
    space->left = gsl_vector_alloc(n);
    space->tau = gsl_vector_alloc(p);
    space->jacobian = gsl_matrix_alloc(n, p);
    space->qr = gsl_matrix_alloc(n, p);
    return space->solver != NULL && space->x != NULL && space->f != NULL && space->step != NULL &&
           space->left != NULL && space->tau != NULL && space->jacobian != NULL && space->qr != NULL;
}

static void free_space(struct space *space)
{
    if (space->solver != NULL)
        gsl_multifit_nlinear_free(space->solver);
    gsl_vector_free(space->x);
    gsl_vector_free(space->f);
    gsl_vector_free(space->step);
    gsl_vector_free(space->left);
    gsl_vector_free(space->tau);
    gsl_matrix_free(space->jacobian);
    gsl_matrix_free(space->qr);
}

/* From one start of a job. False: complained about. */
static bool run_fit(fad_pool *pool, const struct fit_options *options, struct job *job, size_t start)
{
    const struct nist_set *set = &job->set;
    struct fit *fit = &job->fit[start];
    struct space space;
    *fit = (struct fit){.set = set, .model = job->model, .pool = pool, .path = DIGEST_START, .ending = FAILED};
    snprintf(fit->label, sizeof fit->label, "%s from start %zu", set->name, start + 1);
    if (!make_space(&space, set->observations, set->parameters))
        fit->status = FAD_ENOMEM;
    else
        fit->ending = solve(fit, set->start[start], options, &space);
    free_space(&space);
    job->done[start] = fit->ending != FAILED;
    if (fit->ending == FAILED)
        failed(&fit_program, fit->label, fit->status, fit->status == FAD_ENOMEM ? NULL : &fit->failure);
    return job->done[start];
}

static bool run_all(const struct fit_options *options, struct job *jobs, size_t count)
{
    fad_pool *pool = NULL;
    bool good = open_pool(&fit_program, options->workers, &pool);
    gsl_set_error_handler_off();
    for (size_t i = 0; good && i < count; i++)
        for (size_t start = 0; good && start < 2; start++)
            if ((options->start == 0 || options->start == start + 1) && !interrupted())
                good = run_fit(pool, options, &jobs[i], start);
    fad_pool_destroy(pool);
    return good;
}

/* ---- results ---- */

/* Runs one statement for each fit of a job that was done. */
#define FOR_FITS(fit, job) \
    for (const struct fit *fit = (job)->fit; fit < (job)->fit + 2; fit++) \
        if ((job)->done[fit - (job)->fit])

static void print_job(const struct job *job)
{
    const struct nist_set *set = &job->set;
    if (!job->done[0] && !job->done[1])
        return;
    printf("%s: %s, %zu observations\n\n", set->name, job->model->formula, set->observations);
    printf("  %-16s%18s", "", "certified");
    FOR_FITS(fit, job)
        printf("%17s %d%8s", "from start", (int)(fit - job->fit) + 1, "digits");
    for (size_t j = 0; j < set->parameters; j++) {
        printf("\n  b%-15zu%18.10e", j + 1, set->certified[j]);
        FOR_FITS(fit, job) {
            double digits = -log10(fabs(fit->found[j] - set->certified[j]) / fabs(set->certified[j]));
            printf("%19.10e%8.2f", fit->found[j], fmin(digits, digits_given));
        }
    }
    printf("\n  %-16s%18.10e", "sum of squares", set->rss);
    FOR_FITS(fit, job)
        printf("%19.10e%8s", fit->rss, "");
    printf("\n\n");
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How many of the fits from one start have the digits that are asked for, and the median. digits: room for count */
static void print_start(const struct job *jobs, size_t count, size_t start, double *digits)
{
    size_t fits = 0, good = 0;
    for (size_t i = 0; i < count; i++)
        if (jobs[i].done[start]) {
            digits[fits++] = jobs[i].fit[start].digits;
            good += jobs[i].fit[start].digits >= digits_asked;
        }
    if (fits == 0)
        return;
    qsort(digits, fits, sizeof *digits, by_size);
    printf("start %zu: %zu of %zu fits agree to %.0f digits or more; least %.2f, median %.2f\n", start + 1, good, fits,
           digits_asked, digits[0], 0.5 * (digits[(fits - 1) / 2] + digits[fits / 2]));
}

static int report(const struct job *jobs, size_t count, double *digits)
{
    uint64_t hash = DIGEST_START;
    int code = interrupted() ? EXIT_INTERRUPTED : EXIT_RIGHT;
    bool agree = true;
    for (size_t i = 0; i < count; i++)
        print_job(&jobs[i]);
    printf("%-12s%8s%10s%10s%12s\n", "data set", "start", "steps", "digits", "gradient");
    for (size_t i = 0; i < count; i++)
        FOR_FITS(fit, &jobs[i]) {
            double bits[2] = {fit->rss, fit->gradient};
            printf("%-12s%8d%10zu%10.2f%12.1e  %s\n", fit->set->name, (int)(fit - jobs[i].fit) + 1, fit->steps,
                   fit->digits, fit->gradient, ending_word(fit->ending));
            if (code < ending_code(fit->ending))
                code = ending_code(fit->ending);
            agree = agree && fit->digits >= digits_asked;
            hash = digest(digest(hash ^ fit->path, bits, 2), fit->found, fit->set->parameters);
        }
    putchar('\n');
    for (size_t start = 0; start < 2; start++)
        print_start(jobs, count, start, digits);
    return finish(&fit_program, hash, code == EXIT_RIGHT && !agree ? EXIT_WRONG : code);
}

int fit_nist(const struct fit_options *options, char *const *paths, size_t count)
{
    struct complaint complaint;
    struct job *jobs = calloc(count, sizeof *jobs);
    double *digits = calloc(count, sizeof *digits);
    int code = jobs != NULL && digits != NULL ? 0 : failed(&fit_program, "the list of files", FAD_ENOMEM, NULL);
    /* everything is read before anything is computed, so that a damaged file leaves no half of a result */
    for (size_t i = 0; i < count && code == 0; i++)
        if (!nist_load_with_model(paths[i], &jobs[i].set, &jobs[i].model, &complaint)) {
            fprintf(stderr, "%s\n", complaint.text);
            code = EXIT_INPUT;
        }
    if (code == 0)
        code = run_all(options, jobs, count) ? report(jobs, count, digits) : EXIT_WRONG;
    for (size_t i = 0; jobs != NULL && i < count; i++)
        nist_release(&jobs[i].set);
    free(jobs);
    free(digits);
    return code;
}
