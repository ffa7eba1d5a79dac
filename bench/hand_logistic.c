/* Logistic regression by hand. */
#include "hand.h"
#include "vector.h"

#include <string.h>

static double dot(size_t p, const double *row, const double *theta)
{
    double z = 0;
    for (size_t j = 0; j < p; j++)
        z += row[j] * theta[j];
    return z;
}

int logistic_value(void *problem, unsigned workers, double *out)
{
    const struct logistic_problem *l = problem;
    double sum = 0;
    (void)workers;
    for (size_t i = 0; i < l->n; i++) {
        const double *row = l->rows + i * (l->p + 1);
        double z = dot(l->p, row, l->theta);
        sum += log(1 + exp(z)) - row[l->p] * z;
    }
    out[0] = sum;
    return 0;
}

int logistic_gradient(void *problem, unsigned workers, double *out)
{
    const struct logistic_problem *l = problem;
    size_t p = l->p;
    double sum = 0, *restrict gradient = out + 1;
    (void)workers;
    memset(gradient, 0, p * sizeof *gradient);
    for (size_t i = 0; i < l->n; i++) {
        const double *row = l->rows + i * (p + 1);
        double z = dot(p, row, l->theta), e = exp(z), r = e / (1 + e) - row[p];
        sum += log(1 + e) - row[p] * z;
        for (size_t j = 0; j < p; j++)
            gradient[j] += r * row[j];
    }
    out[0] = sum;
    return 0;
}

/* LANES rows: one row a lane for exp and log, LANES features a lane for the rest. theta is filled up with zeros, so that
 * what stands behind a row adds nothing; the gradient's last entries are rubbish that nobody reads. */
static inline __attribute__((always_inline)) vector rows_at_once(size_t p, size_t vectors, const double *rows,
                                                                const vector *theta, vector *gradient)
{
    vector v[LANES], z, e, r, label;
    for (int i = 0; i < LANES; i++) {
        const double *row = rows + (size_t)i * (p + 1);
        v[i] = v_load(row) * theta[0];
        for (size_t j = 1; j < vectors; j++)
            v[i] += v_load(row + j * LANES) * theta[j];
        label[i] = row[p];
    }
    z = v_totals(v);
    e = v_exp(z);
    r = e / (1 + e) - label;
    for (int i = 0; i < LANES; i++) {
        const double *row = rows + (size_t)i * (p + 1);
        vector weight = v_set(r[i]);
        for (size_t j = 0; j < vectors; j++)
            gradient[j] += weight * v_load(row + j * LANES);
    }
    return v_log(1 + e) - label * z;
}

enum { MOST_VECTORS = 1024 };

/* Inlined with a constant number of vectors, theta and the gradient stay in registers. */
static inline __attribute__((always_inline)) size_t many_rows(const struct logistic_problem *l, size_t vectors,
                                                             const vector *theta_in, vector *gradient_out, vector *sum)
{
    vector theta[vectors], gradient[vectors];
    size_t i = 0;
    memcpy(theta, theta_in, sizeof theta);
    memset(gradient, 0, sizeof gradient);
    for (; i + LANES <= l->n; i += LANES)
        *sum += rows_at_once(l->p, vectors, l->rows + i * (l->p + 1), theta, gradient);
    memcpy(gradient_out, gradient, sizeof gradient);
    return i;
}

int logistic_simd_gradient(void *problem, unsigned workers, double *out)
{
    const struct logistic_problem *l = problem;
    size_t p = l->p, vectors = (p + LANES - 1) / LANES, done = 0;
    vector theta[MOST_VECTORS], gradient[MOST_VECTORS], sum = {0};
    struct logistic_problem rest = *l;
    (void)workers;
    if (vectors > MOST_VECTORS)
        return 1;
    theta[vectors - 1] = sum;
    memcpy(theta, l->theta, p * sizeof(double));
    if (vectors == (20 + LANES - 1) / LANES)
        done = many_rows(l, (20 + LANES - 1) / LANES, theta, gradient, &sum);
    else
        done = many_rows(l, vectors, theta, gradient, &sum);
    rest.rows += done * (p + 1);
    rest.n -= done;
    logistic_gradient(&rest, 1, out);
    out[0] += v_total(sum);
    for (size_t j = 0; j < p; j++)
        out[1 + j] += ((double *)gradient)[j];
    return 0;
}
