/* Gaussian mixtures by hand. */

/* Loops of at most ten turns: gcc's vectors make them a fifth slower. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-vectorize")
#endif

#include "hand.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What does not depend on the point, once a call: exp(q), and alpha + sum of q. */
static double *prepare(const struct gmm_problem *g, double **offsets)
{
    size_t d = g->d, K = g->k;
    double *scratch = malloc((K * d + K + K + K * d + d) * sizeof *scratch), *e = scratch;
    const double *alpha = g->theta, *q = alpha + K + K * d;
    if (!scratch)
        return NULL;
    *offsets = e + K * d;
    for (size_t j = 0; j < K; j++) {
        (*offsets)[j] = alpha[j];
        for (size_t i = 0; i < d; i++) {
            e[j * d + i] = exp(q[j * d + i]);
            (*offsets)[j] += q[j * d + i];
        }
    }
    return scratch;
}

/* v = L (x - mu) of one component; returns |v|^2. */
static inline double transform(size_t d, const double *x, const double *mu, const double *e, const double *l, double *restrict c,
                               double *restrict v)
{
    double quad = 0;
    for (size_t i = 0; i < d; i++)
        c[i] = x[i] - mu[i];
    for (size_t i = 0; i < d; l += i, i++) {
        double sum = e[i] * c[i];
        for (size_t m = 0; m < i; m++)
            sum += l[m] * c[m];
        v[i] = sum;
        quad += sum * sum;
    }
    return quad;
}

/* s[j] and then its weight exp(s[j] - result); v[K][d] are all transformed differences. */
static double point(const struct gmm_problem *g, const double *x, const double *e, const double *offsets, double *s, double *v,
                    double *c, size_t stride)
{
    size_t d = g->d, K = g->k, nl = d * (d - 1) / 2;
    const double *mu = g->theta + K, *l = mu + 2 * K * d;
    double most = -INFINITY, sum = 0;
    for (size_t j = 0; j < K; j++) {
        s[j] = offsets[j] - 0.5 * transform(d, x, mu + j * d, e + j * d, l + j * nl, c, v + j * stride);
        most = s[j] > most ? s[j] : most;
    }
    for (size_t j = 0; j < K; j++)
        sum += s[j] = exp(s[j] - most);
    for (size_t j = 0; j < K; j++)
        s[j] /= sum;
    return most + log(sum);
}

int gmm_value(void *problem, unsigned workers, double *out)
{
    const struct gmm_problem *g = problem;
    double *offsets, *e = prepare(g, &offsets), sum = 0;
    (void)workers;
    if (!e)
        return 1;
    for (size_t i = 0; i < g->n; i++) {
        double *s = offsets + g->k, *v = s + g->k;
        sum += point(g, g->points + i * g->d, e, offsets, s, v, v + g->d, 0);
    }
    free(e);
    *out = sum;
    return 0;
}

/* One component's part of the gradient at one point: w is its weight. */
static inline void component(size_t d, double w, const double *x, const double *mu, const double *e, const double *l,
                             const double *v, double *restrict dmu, double *restrict dq, double *restrict dl)
{
    double c[d], wv[d];
    for (size_t i = 0; i < d; i++) {
        c[i] = x[i] - mu[i];
        wv[i] = w * v[i];
    }
    for (size_t i = 0; i < d; dl += i, i++)
        for (size_t m = 0; m < i; m++)
            dl[m] -= wv[i] * c[m];
    for (size_t m = 0; m < d; m++) {
        double back = wv[m] * e[m];
        const double *column = l + m * (m + 1) / 2 + m;
        dq[m] += w - back * c[m];
        for (size_t i = m + 1; i < d; column += i, i++)
            back += wv[i] * *column;
        dmu[m] += back;
    }
}

int gmm_gradient(void *problem, unsigned workers, double *out)
{
    const struct gmm_problem *g = problem;
    size_t d = g->d, K = g->k, nl = d * (d - 1) / 2;
    const double *mu = g->theta + K, *l = mu + 2 * K * d;
    double *gradient = out + 1, *dmu = gradient + K, *dq = dmu + K * d, *dl = dq + K * d, *offsets, *e = prepare(g, &offsets);
    (void)workers;
    if (!e)
        return 1;
    memset(out, 0, (1 + g->p) * sizeof *out);
    for (size_t i = 0; i < g->n; i++) {
        const double *x = g->points + i * d;
        double *s = offsets + K, *v = s + K;
        out[0] += point(g, x, e, offsets, s, v, v + K * d, d);
        for (size_t j = 0; j < K; j++) {
            gradient[j] += s[j];
            component(d, s[j], x, mu + j * d, e + j * d, l + j * nl, v + j * d, dmu + j * d, dq + j * d, dl + j * nl);
        }
    }
    free(e);
    return 0;
}
