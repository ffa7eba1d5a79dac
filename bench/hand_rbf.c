/* Sums of radial basis functions by hand. Neighbouring models are one long list of centres. */
#include "hand.h"
#include "vector.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))
enum { MOST_D = 64 };

INLINE double distance(size_t d, const double *at, const double *centre)
{
    double sum = 0;
    for (size_t i = 0; i < d; i++)
        sum += (at[i] - centre[i]) * (at[i] - centre[i]);
    return sum;
}

INLINE double value(const struct rbf_problem *r, size_t d)
{
    double sum = 0;
    for (size_t j = 0; j < r->n * r->centres; j++)
        sum += r->x[j * (d + 1) + d] * exp(-distance(d, r->at, r->x + j * (d + 1)));
    return sum;
}

int rbf_value(void *problem, unsigned workers, double *out)
{
    const struct rbf_problem *r = problem;
    (void)workers;
    *out = r->d == 8 ? value(r, 8) : value(r, r->d);
    return 0;
}

/* The centres from `first` on; adds to value and in_at. */
INLINE void gradient(const struct rbf_problem *r, size_t first, size_t d, double *sum, double *in_at, double *restrict in_x)
{
    double a[MOST_D] = {0};
    for (size_t j = first; j < r->n * r->centres; j++) {
        const double *centre = r->x + j * (d + 1);
        double *g = in_x + j * (d + 1), e = exp(-distance(d, r->at, centre)), we = centre[d] * e;
        *sum += we;
        g[d] = e;
        for (size_t i = 0; i < d; i++) {
            g[i] = 2 * we * (r->at[i] - centre[i]);
            a[i] += g[i];
        }
    }
    for (size_t i = 0; i < d; i++)
        in_at[i] -= a[i];
}

int rbf_gradient(void *problem, unsigned workers, double *out)
{
    const struct rbf_problem *r = problem;
    double sum = 0;
    (void)workers;
    if (r->d > MOST_D)
        return 1;
    memset(out, 0, (1 + r->d) * sizeof *out);
    if (r->d == 8)
        gradient(r, 0, 8, &sum, out + 1, out + 9);
    else
        gradient(r, 0, r->d, &sum, out + 1, out + 1 + r->d);
    out[0] = sum;
    return 0;
}

/* LANES centres: one a lane for exp, LANES coordinates a lane for the rest. */
INLINE vector centres_at_once(size_t d, const vector *at, const double *centre, double *restrict in_x, vector *in_at)
{
    vector v[LANES], weight, e, we;
    for (size_t j = 0; j < LANES; j++) {
        v[j] = (vector){0};
        for (size_t i = 0; i < d / LANES; i++) {
            vector c = at[i] - v_load(centre + j * (d + 1) + i * LANES);
            v[j] += c * c;
        }
        weight[j] = centre[j * (d + 1) + d];
    }
    e = v_exp(-v_totals(v));
    we = weight * e;
    for (size_t j = 0; j < LANES; j++) {
        vector factor = v_set(2 * we[j]);
        for (size_t i = 0; i < d / LANES; i++) {
            vector g = factor * (at[i] - v_load(centre + j * (d + 1) + i * LANES));
            v_store(in_x + j * (d + 1) + i * LANES, g);
            in_at[i] -= g;
        }
        in_x[j * (d + 1) + d] = e[j];
    }
    return we;
}

int rbf_simd_gradient(void *problem, unsigned workers, double *out)
{
    enum { D = 8, VECTORS = D / LANES };
    const struct rbf_problem *r = problem;
    vector at[VECTORS], in_at[VECTORS] = {{0}}, total = {0};
    double sum = 0;
    size_t j = 0, all = r->n * r->centres;
    (void)workers;
    if (r->d != D)
        return 1;
    memcpy(at, r->at, sizeof at);
    for (; j + LANES <= all; j += LANES)
        total += centres_at_once(D, at, r->x + j * (D + 1), out + 1 + D + j * (D + 1), in_at);
    memcpy(out + 1, in_at, sizeof in_at);
    gradient(r, j, D, &sum, out + 1, out + 1 + D);
    out[0] = sum + v_total(total);
    return 0;
}
