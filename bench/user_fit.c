/* Squared residuals of curve fits as terms; x[0] is the place, x[1] what was observed there. */
#include "user.h"

#include "problems.h"

static fad_real squared(fad_tape *t, fad_real model, const fad_real *x)
{
    return fad_square(t, fad_sub(t, model, x[1]));
}

static int line(fad_tape *t, size_t k, const fad_real *b, const fad_real *x, fad_real *y, void *user)
{
    (void)k, (void)user;
    *y = squared(t, fad_mul(t, b[0], x[0]), x);
    return 0;
}

static int line_value(const struct fad_element *e, double *y)
{
    double r = e->shared[0] * e->x[0] - e->x[1];
    *y = r * r;
    return 0;
}

static int line_pullback(const struct fad_element *e, const double *y_adjoint, double *shared_adjoint, double *x_adjoint)
{
    (void)x_adjoint; /* no gradient in the data is asked for */
    shared_adjoint[0] += y_adjoint[0] * 2 * (e->shared[0] * e->x[0] - e->x[1]) * e->x[0];
    return 0;
}

static int misra(fad_tape *t, size_t k, const fad_real *b, const fad_real *x, fad_real *y, void *user)
{
    (void)k, (void)user;
    *y = squared(t, fad_mul(t, b[0], fad_sub(t, 1, fad_exp(t, fad_neg(t, fad_mul(t, b[1], x[0]))))), x);
    return 0;
}

static int expcos(fad_tape *t, size_t k, const fad_real *b, const fad_real *x, fad_real *y, void *user)
{
    fad_real e = fad_exp(t, fad_neg(t, fad_mul(t, b[1], x[0])));
    (void)k, (void)user;
    *y = squared(t, fad_mul(t, fad_mul(t, b[0], e), fad_cos(t, fad_mul(t, b[2], x[0]))), x);
    return 0;
}

/* b[0] + x (b[1] + x (b[2] + x rest)) */
static fad_real cubic(fad_tape *t, fad_real first, const fad_real *b, fad_real x)
{
    return fad_add(t, first, fad_mul(t, x, fad_add(t, b[0], fad_mul(t, x, fad_add(t, b[1], fad_mul(t, x, b[2]))))));
}

static int rational(fad_tape *t, size_t k, const fad_real *b, const fad_real *x, fad_real *y, void *user)
{
    (void)k, (void)user;
    *y = squared(t, fad_div(t, cubic(t, b[0], b + 1, x[0]), cubic(t, fad_const(1), b + 4, x[0])), x);
    return 0;
}

static struct fad_sum fit(const struct fit_problem *f, fad_term *term, size_t operations)
{
    return (struct fad_sum){.terms = f->n, .shared_count = f->p, .shared = f->theta, .x = f->data, .x_count = 2, .term = term,
                            .term_operations = operations};
}

struct fad_sum user_line_sum(const struct fit_problem *f)
{
    return fit(f, line, 3);
}

struct fad_sum user_line_rule_sum(const struct fit_problem *f)
{
    static const struct fad_term_rule rule = {.value = line_value, .pullback = line_pullback};
    struct fad_sum s = fit(f, NULL, 3);
    s.rule = &rule;
    return s;
}

struct fad_sum user_misra_sum(const struct fit_problem *f)
{
    return fit(f, misra, 7);
}

struct fad_sum user_expcos_sum(const struct fit_problem *f)
{
    return fit(f, expcos, 9);
}

struct fad_sum user_rational_sum(const struct fit_problem *f)
{
    return fit(f, rational, 15);
}
