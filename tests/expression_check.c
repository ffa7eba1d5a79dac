/* See expression.h: an expression on a tape against long double, and against differences, which share no derivative rule
 * with either. */
#include "tests/expression.h"

#include <math.h>
#include <stdio.h>

/* Where a message goes. */
struct finding {
    char *why;
    size_t room;
};

/* Always false. */
static bool broken(const struct finding *f, const char *what, double got, long double expected, long double bound)
{
    snprintf(f->why, f->room, "%s: %.17g, should be %.21Lg, allowed %.3Lg, off %.3Lg", what, got, expected, bound,
             fabsl(got - expected));
    return false;
}

/* not (<=): a NaN is not within anything */
static bool within(const struct finding *f, const char *what, double got, long double expected, long double bound)
{
    return fabsl(got - expected) <= bound || broken(f, what, got, expected, bound);
}

/* Central difference in direction j. False: between the points there is a kink or a jump. */
static bool slope(const struct expression *e, const double *inputs, unsigned j, long double h, long double *result)
{
    long double x[EXPRESSION_INPUTS], up, down;
    for (unsigned i = 0; i < EXPRESSION_INPUTS; i++)
        x[i] = inputs[i];
    uint64_t here = expression_choices(e, x);
    x[j] = inputs[j] + h;
    up = expression_exact(e, x);
    bool smooth = expression_choices(e, x) == here;
    x[j] = inputs[j] - h;
    down = expression_exact(e, x);
    *result = (up - down) / (2 * h);
    return smooth && expression_choices(e, x) == here;
}

static bool differences(const struct finding *f, const struct expression *e, const double *inputs,
                        const struct reference *r)
{
    const long double h = 0x1p-18L;
    if (!(r->steepest <= 1e4L)) /* it may oscillate between the points */
        return true;
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++) {
        long double wide, narrow;
        if (!slope(e, inputs, j, h, &wide) || !slope(e, inputs, j, h / 2, &narrow))
            continue;
        /* The error goes with h^2, so the second slope is off by a third of the change. Rounding: 2^-64 of values up to 1e6
         * a step, over h. */
        long double allowed = 2 * fabsl(wide - narrow) + 1e-7L * (1 + r->paths[j] + fabsl(r->value));
        if (!(fabsl(narrow - r->gradient[j]) <= allowed) && isfinite(narrow))
            return broken(f, "difference", (double)narrow, r->gradient[j], allowed);
    }
    return true;
}

/* The value, and differences, where no choice hangs on rounding. */
static bool value_holds(const struct finding *f, const struct expression *e, const double *inputs, double value,
                        const struct reference *r)
{
    long double exact[EXPRESSION_INPUTS];
    if (!isfinite(r->value_error))
        return true;
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
        exact[j] = inputs[j];
    /* twice: second order */
    return within(f, "value", value, expression_exact(e, exact), 2 * r->value_error) && differences(f, e, inputs, r);
}

bool expression_holds(fad_tape *t, const struct expression *e, const double *inputs, char *why, size_t room)
{
    fad_real x[EXPRESSION_INPUTS], plain[EXPRESSION_INPUTS];
    double g[EXPRESSION_INPUTS], again[EXPRESSION_INPUTS];
    struct finding f = {why, room};
    struct reference r;
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++) {
        plain[j] = fad_const(inputs[j]);
        x[j] = fad_input(t, inputs[j]);
    }
    fad_real y = expression_run(t, e, x, NULL), p = expression_run(NULL, e, plain, NULL);
    if (!is_bits(y.value, p.value) || p.id != 0)
        return broken(&f, "value with and without derivatives", y.value, p.value, 0);
    int status = fad_tape_reverse(t, y, 1, EXPRESSION_INPUTS, x, g);
    if (status != 0)
        return broken(&f, "status of the sweep", status, 0, 0);
    expression_reference(e, inputs, &r);
    long double gamma = 1.01L * r.edges * UNIT;
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
        if (!within(&f, "gradient", g[j], r.gradient[j], 1.01L * r.error[j] + gamma * (r.paths[j] + r.error[j])))
            return false;
    status = fad_tape_reverse(t, y, 1, EXPRESSION_INPUTS, x, again);
    if (status != 0 || !same_bits(g, again, sizeof g))
        return broken(&f, "a second sweep", again[0], g[0], 0);
    return value_holds(&f, e, inputs, y.value, &r);
}
