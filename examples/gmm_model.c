/* See gmm_model.h. */
#include "gmm_model.h"

#include <stdlib.h>

/* The benchmark's own constant, which its published values contain: with the exact one, results would differ from them in
 * about the 14th digit. */
static const double benchmark_pi = 3.14159265359;

/* Where L[j][i], i < j, stands in the strictly lower part, which the file has by columns. */
static size_t below(size_t d, size_t j, size_t i)
{
    return i * d - i * (i + 1) / 2 + (j - i - 1);
}

/* |Q (x - mu)|^2. work: 2 d values */
static fad_real distance(fad_tape *t, size_t d, const fad_real *x, const fad_real *mu, const fad_real *q,
                         fad_real *work)
{
    const fad_real *lower = q + d;
    fad_real *centred = work, *line = work + d, sum = fad_const(0);
    for (size_t i = 0; i < d; i++)
        centred[i] = fad_sub(t, x[i], mu[i]);
    for (size_t j = 0; j < d; j++) {
        /* copying a fad_real records nothing; together in memory they make one dot product */
        for (size_t i = 0; i < j; i++)
            line[i] = lower[below(d, j, i)];
        fad_real diagonal = fad_mul(t, fad_exp(t, q[j]), centred[j]);
        sum = fad_add(t, sum, fad_square(t, fad_add(t, diagonal, fad_dot(t, j, line, centred))));
    }
    return sum;
}

/* The term of one point: logsumexp over the components. */
static int point(fad_tape *t, size_t k, const fad_real *parameter, const fad_real *x, fad_real *y, void *user)
{
    const struct gmm_problem *problem = user;
    size_t d = problem->dimension, components = problem->components;
    const fad_real *alpha = parameter, *mu = alpha + components, *factor = mu + components * d;
    fad_real *s = fad_alloc(t, components + 2 * d), *work = s + components;
    (void)k;
    if (s == NULL)
        return fad_tape_error(t);
    for (size_t c = 0; c < components; c++, mu += d, factor += problem->factor) {
        fad_real weight = fad_add(t, alpha[c], fad_sum_of(t, d, factor));
        s[c] = fad_sub(t, weight, fad_mul(t, 0.5, distance(t, d, x, mu, factor, work)));
    }
    *y = fad_logsumexp(t, components, s);
    return 0;
}

/* log Gamma_D(a). On constants the operations record nothing; they have the same bits on every machine, which log and
 * lgamma of the C library do not promise. */
static fad_real log_gamma_of(fad_tape *t, size_t d, double a)
{
    fad_real sum = fad_mul(t, 0.25 * (double)(d * (d - 1)), fad_log(t, fad_const(benchmark_pi)));
    for (size_t j = 1; j <= d; j++)
        sum = fad_add(t, sum, fad_lgamma(t, fad_const(a + 0.5 * (1 - (double)j))));
    return sum;
}

/* C of the prior. */
static fad_real wishart_constant(fad_tape *t, const struct gmm_problem *p)
{
    double d = (double)p->dimension, freedom = d + (double)p->m + 1;
    fad_real half_log_2 = fad_mul(t, 0.5, fad_log(t, fad_const(2)));
    fad_real scale = fad_mul(t, freedom * d, fad_sub(t, fad_log(t, fad_const(p->gamma)), half_log_2));
    return fad_sub(t, scale, log_gamma_of(t, p->dimension, 0.5 * freedom));
}

/* gamma^2/2 (|exp(q)|^2 + |L|^2) - m sum(q) of one component */
static fad_real penalty(fad_tape *t, const struct gmm_problem *p, const fad_real *factor)
{
    size_t d = p->dimension, lower = p->factor - d;
    fad_real squares = fad_dot(t, lower, factor + d, factor + d);
    for (size_t i = 0; i < d; i++)
        squares = fad_add(t, squares, fad_square(t, fad_exp(t, factor[i])));
    fad_real spread = fad_mul(t, 0.5 * p->gamma * p->gamma, squares);
    return fad_sub(t, spread, fad_mul(t, (double)p->m, fad_sum_of(t, d, factor)));
}

/* What of the likelihood is no sum over points. */
static fad_real normalisation(fad_tape *t, const struct gmm_problem *p, const fad_real *alpha)
{
    double points = (double)p->points;
    fad_real gauss = fad_mul(t, -0.5 * (double)p->dimension * points, fad_log(t, fad_const(2 * benchmark_pi)));
    return fad_sub(t, gauss, fad_mul(t, points, fad_logsumexp(t, p->components, alpha)));
}

/* Everything but the sum over points, on the model's own tape. */
static int rest(struct gmm_model *model, const double *parameter, double sign, double *value)
{
    const struct gmm_problem *p = model->problem;
    fad_tape *t = model->tape;
    fad_real *in = model->in;
    int status = fad_tape_rewind(t, NULL);
    if (status != FAD_OK)
        return status;
    for (size_t i = 0; i < p->parameters; i++)
        in[i] = fad_input(t, parameter[i]);
    const fad_real *factor = in + p->components * (1 + p->dimension);
    fad_real y = fad_mul(t, sign, normalisation(t, p, in));
    y = fad_sub(t, y, fad_mul(t, (double)p->components, wishart_constant(t, p)));
    for (size_t c = 0; c < p->components; c++)
        y = fad_add(t, y, penalty(t, p, factor + c * p->factor));
    *value = fad_value(t, y);
    return fad_tape_reverse(t, y, 1, p->parameters, in, model->gradient);
}

static struct fad_sum over_points(const struct gmm_problem *p, const double *parameter)
{
    return (struct fad_sum){.terms = p->points, .shared_count = p->parameters, .shared = parameter, .x = p->point,
                            .x_count = p->dimension, .term = point, .user = (void *)p, .uniform = true};
}

bool gmm_model_init(struct gmm_model *model, const struct gmm_problem *problem)
{
    struct fad_sum sum = over_points(problem, problem->parameter);
    *model = (struct gmm_model){.problem = problem};
    model->tape = fad_tape_create();
    model->in = calloc(problem->parameters, sizeof *model->in);
    model->gradient = calloc(problem->parameters, sizeof *model->gradient);
    int status = fad_program_create(&model->program, &sum);
    /* without a program each call makes its own, or uses the tape, and says what is wrong with the term, if anything is */
    return status != FAD_ENOMEM && model->tape != NULL && model->in != NULL && model->gradient != NULL;
}

void gmm_model_fini(struct gmm_model *model)
{
    fad_program_destroy(model->program);
    fad_tape_destroy(model->tape);
    free(model->in);
    free(model->gradient);
}

int gmm_objective(struct gmm_model *model, fad_pool *pool, const double *parameter, double sign, double *value,
                  double *gradient, struct fad_failure *failure)
{
    const struct gmm_problem *p = model->problem;
    struct fad_sum sum = over_points(p, parameter);
    double of_points, of_rest;
    int status = rest(model, parameter, sign, &of_rest);
    sum.program = model->program;
    sum.failure = failure;
    if (status == FAD_OK)
        status = fad_sum_gradient(pool, &sum, &of_points, gradient, NULL);
    if (status != FAD_OK)
        return status;
    *value = sign * of_points + of_rest;
    for (size_t i = 0; i < p->parameters; i++)
        gradient[i] = sign * gradient[i] + model->gradient[i];
    return FAD_OK;
}
