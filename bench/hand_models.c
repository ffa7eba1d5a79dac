/* A sum of peaks by hand. */
#include "hand.h"

#include <math.h>

int models_value(void *problem, unsigned workers, double *out)
{
    const struct models_problem *m = problem;
    double sum = 0;
    (void)workers;
    for (size_t k = 0; k < m->n; k++) {
        const double *x = m->x + m->offset[k];
        double u = (m->place - x[1]) / x[2], u2 = u * u, g;
        switch (k % 3) {
        case 0:
            sum += x[0] * exp(-0.5 * u2);
            break;
        case 1:
            sum += x[0] / (1 + u2);
            break;
        default:
            g = exp(-0.5 * u2);
            sum += x[0] * (g + x[3] * (1 / (1 + u2) - g));
        }
    }
    *out = sum;
    return 0;
}

/* shape and its derivative in u2; d[3]: in the mixture. */
static inline double shape_of(size_t kind, const double *x, double u2, double *slope, double *d)
{
    double g = kind == 1 ? 0 : exp(-0.5 * u2), l = kind == 0 ? 0 : 1 / (1 + u2);
    switch (kind) {
    case 0:
        *slope = -0.5 * g;
        return g;
    case 1:
        *slope = -l * l;
        return l;
    default:
        *slope = -0.5 * g * (1 - x[3]) - x[3] * l * l;
        d[3] = x[0] * (l - g);
        return g + x[3] * (l - g);
    }
}

int models_gradient(void *problem, unsigned workers, double *out)
{
    const struct models_problem *m = problem;
    double sum = 0, in_place = 0;
    (void)workers;
    for (size_t k = 0; k < m->n; k++) {
        const double *x = m->x + m->offset[k];
        double *d = out + 2 + m->offset[k], w = 1 / x[2], u = (m->place - x[1]) * w, slope, shape, in_u;
        shape = shape_of(k % 3, x, u * u, &slope, d);
        sum += x[0] * shape;
        in_u = x[0] * slope * 2 * u;
        in_place += in_u * w;
        d[0] = shape;
        d[1] = -in_u * w;
        d[2] = -in_u * u * w;
    }
    out[0] = sum;
    out[1] = in_place;
    return 0;
}
