/* Curve fits by hand: each model as a value, with its slopes in the parameters, and the latter for vectors. */
#include "hand.h"
#include "vector.h"

#include <string.h>

enum { MOST = 8 }; /* parameters */
#define INLINE static inline __attribute__((always_inline))

typedef double value_at(const double *b, double x);
typedef double slopes_at(const double *b, double x, double *d);
typedef vector slopes_of(const double *b, vector x, vector *d);

/* Inlined with a constant model, the loops are those that one would write out. */
INLINE int value(const void *problem, value_at *model, double *out)
{
    const struct fit_problem *f = problem;
    double sum = 0;
    for (size_t k = 0; k < f->n; k++) {
        double r = model(f->theta, f->data[2 * k]) - f->data[2 * k + 1];
        sum += r * r;
    }
    *out = sum;
    return 0;
}

INLINE void rows(const struct fit_problem *f, size_t first, size_t p, slopes_at *model, double *sum, double *g)
{
    for (size_t k = first; k < f->n; k++) {
        double d[MOST], r = model(f->theta, f->data[2 * k], d) - f->data[2 * k + 1];
        *sum += r * r;
        for (size_t j = 0; j < p; j++)
            g[j] += r * d[j];
    }
}

INLINE int gradient(const void *problem, size_t p, slopes_at *model, double *out)
{
    double sum = 0, g[MOST] = {0};
    rows(problem, 0, p, model, &sum, g);
    out[0] = sum;
    for (size_t j = 0; j < p; j++)
        out[1 + j] = 2 * g[j];
    return 0;
}

INLINE int simd(const void *problem, size_t p, slopes_of *model, slopes_at *one, double *out)
{
    const struct fit_problem *f = problem;
    vector total = {0}, g[MOST] = {{0}};
    double sum = 0, rest[MOST] = {0};
    size_t k = 0;
    for (; k + LANES <= f->n; k += LANES) {
        vector d[MOST], low = v_load(f->data + 2 * k), high = v_load(f->data + 2 * k + LANES);
        vector r = model(f->theta, v_even(low, high), d) - v_odd(low, high);
        total += r * r;
        for (size_t j = 0; j < p; j++)
            g[j] += r * d[j];
    }
    rows(f, k, p, one, &sum, rest);
    out[0] = sum + v_total(total);
    for (size_t j = 0; j < p; j++)
        out[1 + j] = 2 * (rest[j] + v_total(g[j]));
    return 0;
}

/* b1 (1 - e^(-b2 x)) */
INLINE double line(const double *b, double x)
{
    return b[0] * x;
}

INLINE double line_slopes(const double *b, double x, double *d)
{
    d[0] = x;
    return b[0] * x;
}

INLINE vector line_vector(const double *b, vector x, vector *d)
{
    d[0] = x;
    return b[0] * x;
}

INLINE double misra(const double *b, double x)
{
    return b[0] * (1 - exp(-b[1] * x));
}

INLINE double misra_slopes(const double *b, double x, double *d)
{
    double e = exp(-b[1] * x);
    d[0] = 1 - e;
    d[1] = b[0] * x * e;
    return b[0] * d[0];
}

INLINE vector misra_vector(const double *b, vector x, vector *d)
{
    vector e = v_exp(-b[1] * x);
    d[0] = 1 - e;
    d[1] = b[0] * x * e;
    return b[0] * d[0];
}

/* b1 e^(-b2 x) cos(b3 x) */
INLINE double expcos(const double *b, double x)
{
    return b[0] * exp(-b[1] * x) * cos(b[2] * x);
}

INLINE double expcos_slopes(const double *b, double x, double *d)
{
    double e = exp(-b[1] * x), c = cos(b[2] * x), y;
    d[0] = e * c;
    y = b[0] * d[0];
    d[1] = -x * y;
    d[2] = -x * b[0] * e * sin(b[2] * x);
    return y;
}

INLINE vector expcos_vector(const double *b, vector x, vector *d)
{
    vector e = v_exp(-b[1] * x), c, s = v_sincos(b[2] * x, &c), y;
    d[0] = e * c;
    y = b[0] * d[0];
    d[1] = -x * y;
    d[2] = -x * b[0] * e * s;
    return y;
}

/* (b1 + b2 x + b3 x^2 + b4 x^3) / (1 + b5 x + b6 x^2 + b7 x^3) */
INLINE double rational(const double *b, double x)
{
    return (b[0] + x * (b[1] + x * (b[2] + x * b[3]))) / (1 + x * (b[4] + x * (b[5] + x * b[6])));
}

INLINE double rational_slopes(const double *b, double x, double *d)
{
    double inverse = 1 / (1 + x * (b[4] + x * (b[5] + x * b[6])));
    double y = (b[0] + x * (b[1] + x * (b[2] + x * b[3]))) * inverse;
    d[0] = inverse;
    d[1] = x * d[0];
    d[2] = x * d[1];
    d[3] = x * d[2];
    d[4] = -y * d[1];
    d[5] = x * d[4];
    d[6] = x * d[5];
    return y;
}

INLINE vector rational_vector(const double *b, vector x, vector *d)
{
    vector inverse = 1 / (1 + x * (b[4] + x * (b[5] + x * b[6])));
    vector y = (b[0] + x * (b[1] + x * (b[2] + x * b[3]))) * inverse;
    d[0] = inverse;
    d[1] = x * d[0];
    d[2] = x * d[1];
    d[3] = x * d[2];
    d[4] = -y * d[1];
    d[5] = x * d[4];
    d[6] = x * d[5];
    return y;
}

#define FIT(name, p) \
    int name##_value(void *problem, unsigned workers, double *out) \
    { \
        (void)workers; \
        return value(problem, name, out); \
    } \
    int name##_gradient(void *problem, unsigned workers, double *out) \
    { \
        (void)workers; \
        return gradient(problem, p, name##_slopes, out); \
    } \
    int name##_simd_gradient(void *problem, unsigned workers, double *out) \
    { \
        (void)workers; \
        return simd(problem, p, name##_vector, name##_slopes, out); \
    }
FIT(line, 1)
FIT(misra, 2)
FIT(expcos, 3)
FIT(rational, 7)
