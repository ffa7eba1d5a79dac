/* See model_check.h. */
#include "model_check.h"

#include <math.h>

/* A number and the sum of the absolute values of its parts. */
struct exact {
    long double value, parts;
};

struct closed_form {
    struct exact value, dx, parameter[MODEL_PARAMETERS_MAX];
};

/* Of a peak in z = (x - centre) / width: shape(z), and -shape'(z) / z, which has no cancellation. */
struct shape {
    struct exact value, slope;
};

static struct exact product(long double factor, struct exact a)
{
    return (struct exact){factor * a.value, fabsl(factor) * a.parts};
}

static void add(struct exact *sum, struct exact a)
{
    sum->value += a.value;
    sum->parts += a.parts;
}

static struct shape gauss(long double z, long double rate)
{
    long double g = expl(-rate * z * z);
    return (struct shape){{g, g}, {2 * rate * g, 2 * rate * g}};
}

static struct shape lorentz(long double z)
{
    long double l = 1 / (1 + z * z);
    return (struct shape){{l, l}, {2 * l * l, 2 * l * l}};
}

/* g + mixing (l - g): that is how the program computes it, so g and mixing * g are parts of their own. */
static struct exact mixed(long double mixing, struct exact l, struct exact g)
{
    return (struct exact){mixing * l.value + (1 - mixing) * g.value, mixing * l.parts + (1 + mixing) * g.parts};
}

static struct closed_form closed_form(const struct model *m, long double x)
{
    long double height = m->parameter[MODEL_HEIGHT], width = m->parameter[MODEL_WIDTH];
    long double mixing = m->parameter[MODEL_MIXING], z = (x - m->parameter[MODEL_CENTRE]) / width;
    struct shape s, l = lorentz(z), g = gauss(z, m->kind == MODEL_GAUSS ? 0.5L : (long double)MODEL_LN_2);
    if (m->kind == MODEL_VOIGT)
        s = (struct shape){mixed(mixing, l.value, g.value), mixed(mixing, l.slope, g.slope)};
    else
        s = m->kind == MODEL_LORENTZ ? l : g;
    struct closed_form f = {.value = product(height, s.value)};
    f.parameter[MODEL_HEIGHT] = s.value;
    f.parameter[MODEL_CENTRE] = product(height * z / width, s.slope);
    f.parameter[MODEL_WIDTH] = product(height * z * z / width, s.slope);
    f.parameter[MODEL_MIXING] =
        (struct exact){height * (l.value.value - g.value.value), fabsl(height) * (l.value.value + g.value.value)};
    f.dx = product(-1, f.parameter[MODEL_CENTRE]);
    return f;
}

/* Below 1e-290 doubles come near the end of their range and lose digits. */
static double relative(double got, struct exact expected)
{
    return (double)(fabsl(got - expected.value) / fmaxl(expected.parts, 1e-290L));
}

/* Rounding of one term: exp(-r) of an r that is itself rounded is off by r times a rounding error of r (three
 * operations), and r is below 746 where exp(-r) is not 0; 32 for the few other operations, each of them counted
 * generously. To that the sum adds at most its leaf and the depth of its tree. */
static double allowed(size_t count, size_t leaf)
{
    double depth = count > leaf ? ceil(log2((double)count / (double)leaf)) : 0;
    return (3 * 746 + 32 + (double)leaf + depth) * 0x1p-53;
}

struct deviation models_check(const struct model *models, size_t count, double x, double value, double dx, size_t leaf)
{
    struct deviation d = {.allowed = allowed(count, leaf)};
    struct exact sum = {0}, slope = {0};
    for (size_t k = 0; k < count; k++) {
        struct closed_form f = closed_form(&models[k], x);
        add(&sum, f.value);
        add(&slope, f.dx);
        for (size_t j = 0; j < model_parameters(models[k].kind); j++) {
            double r = relative(models[k].gradient[j], f.parameter[j]);
            if (!(r <= d.parameter)) /* keeps a NaN */
                d.parameter = r;
        }
    }
    d.value = relative(value, sum);
    d.dx = relative(dx, slope);
    return d;
}

bool deviation_allowed(const struct deviation *d)
{
    return d->value <= d->allowed && d->dx <= d->allowed && d->parameter <= d->allowed;
}
