/* See nist_models.h. b is counted from 0 here: b[0] is NIST's b1. */
#include "nist_models.h"

#include <stdio.h>
#include <string.h>

#define TERM(name) \
    static int name(fad_tape *t, size_t k, const fad_real *b, const fad_real *x, fad_real *y, void *user)

/* c[0] + c[1] x + c[2] x^2 + ... */
static fad_real polynomial(fad_tape *t, fad_real x, size_t count, const fad_real *c)
{
    fad_real sum = c[count - 1];
    for (size_t i = count - 1; i-- > 0;)
        sum = fad_fma(t, sum, x, c[i]);
    return sum;
}

static int residual(fad_tape *t, fad_real response, fad_real predicted, fad_real *y)
{
    *y = fad_sub(t, response, predicted);
    return 0;
}

TERM(misra1a)
{
    (void)k, (void)user;
    /* 1 - exp(z) as -expm1(z), which keeps its digits where z is small */
    fad_real rest = fad_expm1(t, fad_neg(t, fad_mul(t, b[1], x[1])));
    return residual(t, x[0], fad_neg(t, fad_mul(t, b[0], rest)), y);
}

TERM(misra1d)
{
    (void)k, (void)user;
    fad_real z = fad_mul(t, b[1], x[1]);
    return residual(t, x[0], fad_div(t, fad_mul(t, b[0], z), fad_add(t, 1, z)), y);
}

TERM(chwirut2)
{
    (void)k, (void)user;
    fad_real above = fad_exp(t, fad_neg(t, fad_mul(t, b[0], x[1])));
    return residual(t, x[0], fad_div(t, above, fad_fma(t, b[2], x[1], b[1])), y);
}

TERM(danwood)
{
    (void)k, (void)user;
    return residual(t, x[0], fad_mul(t, b[0], fad_pow(t, x[1], b[1])), y);
}

TERM(eckerle4)
{
    (void)k, (void)user;
    fad_real z = fad_div(t, fad_sub(t, x[1], b[2]), b[1]);
    fad_real peak = fad_exp(t, fad_mul(t, -0.5, fad_square(t, z)));
    return residual(t, x[0], fad_mul(t, fad_div(t, b[0], b[1]), peak), y);
}

/* b[0] exp(-(x - b[1])^2 / b[2]^2) */
static fad_real peak(fad_tape *t, const fad_real *b, fad_real x)
{
    fad_real z = fad_div(t, fad_sub(t, x, b[1]), b[2]);
    return fad_mul(t, b[0], fad_exp(t, fad_neg(t, fad_square(t, z))));
}

TERM(gauss1)
{
    (void)k, (void)user;
    fad_real base = fad_mul(t, b[0], fad_exp(t, fad_neg(t, fad_mul(t, b[1], x[1]))));
    fad_real peaks = fad_add(t, peak(t, b + 2, x[1]), peak(t, b + 5, x[1]));
    return residual(t, x[0], fad_add(t, base, peaks), y);
}

/* Rational models: degree + 1 coefficients above, degree below after the constant 1. */
static int rational(fad_tape *t, size_t degree, const fad_real *b, const fad_real *x, fad_real *y)
{
    fad_real above = polynomial(t, x[1], degree + 1, b);
    fad_real below = fad_fma(t, polynomial(t, x[1], degree, b + degree + 1), x[1], 1);
    return residual(t, x[0], fad_div(t, above, below), y);
}

TERM(cubic)
{
    (void)k, (void)user;
    return rational(t, 3, b, x, y);
}

TERM(quadratic)
{
    (void)k, (void)user;
    return rational(t, 2, b, x, y);
}

TERM(mgh09)
{
    (void)k, (void)user;
    fad_real square = fad_square(t, x[1]);
    fad_real above = fad_mul(t, b[0], fad_fma(t, x[1], b[1], square));
    fad_real below = fad_add(t, fad_fma(t, x[1], b[2], square), b[3]);
    return residual(t, x[0], fad_div(t, above, below), y);
}

TERM(mgh10)
{
    (void)k, (void)user;
    fad_real z = fad_div(t, b[1], fad_add(t, x[1], b[2]));
    return residual(t, x[0], fad_mul(t, b[0], fad_exp(t, z)), y);
}

TERM(nelson)
{
    (void)k, (void)user;
    fad_real decay = fad_exp(t, fad_neg(t, fad_mul(t, b[2], x[2])));
    fad_real predicted = fad_sub(t, b[0], fad_mul(t, fad_mul(t, b[1], x[1]), decay));
    return residual(t, fad_log(t, x[0]), predicted, y);
}

TERM(roszman1)
{
    (void)k, (void)user;
    const double pi = 3.141592653589793238462643383279;
    fad_real angle = fad_atan(t, fad_div(t, b[2], fad_sub(t, x[1], b[3])));
    fad_real line = fad_sub(t, b[0], fad_mul(t, b[1], x[1]));
    return residual(t, x[0], fad_sub(t, line, fad_div(t, angle, pi)), y);
}

#define CUBIC "y = (b1+b2*x+b3*x**2+b4*x**3) / (1+b5*x+b6*x**2+b7*x**3)"

const struct nist_model nist_models[] = {
    {"Chwirut2", "y = exp(-b1*x)/(b2+b3*x)", 3, 1, false, chwirut2},
    {"DanWood", "y = b1*x**b2", 2, 1, false, danwood},
    {"Eckerle4", "y = (b1/b2) * exp[-0.5*((x-b3)/b2)**2]", 3, 1, false, eckerle4},
    {"Gauss1", "y = b1*exp(-b2*x) + b3*exp(-(x-b4)**2/b5**2) + b6*exp(-(x-b7)**2/b8**2)", 8, 1, false, gauss1},
    {"Hahn1", CUBIC, 7, 1, false, cubic},
    {"Kirby2", "y = (b1+b2*x+b3*x**2) / (1+b4*x+b5*x**2)", 5, 1, false, quadratic},
    {"MGH09", "y = b1*(x**2+x*b2) / (x**2+x*b3+b4)", 4, 1, false, mgh09},
    {"MGH10", "y = b1 * exp[b2/(x+b3)]", 3, 1, false, mgh10},
    {"Misra1a", "y = b1*(1-exp[-b2*x])", 2, 1, false, misra1a},
    {"Misra1d", "y = b1*b2*x*((1+b2*x)**(-1))", 2, 1, false, misra1d},
    {"Nelson", "log[y] = b1 - b2*x1 * exp[-b3*x2]", 3, 2, true, nelson},
    {"Roszman1", "y = b1 - b2*x - arctan[b3/(x-b4)]/pi", 4, 1, false, roszman1},
    {"Thurber", CUBIC, 7, 1, false, cubic},
    {0},
};

int nist_square(fad_tape *t, size_t k, const fad_real *b, const fad_real *x, fad_real *y, void *user)
{
    const struct nist_model *model = user;
    fad_real left;
    int code = model->residual(t, k, b, x, &left, NULL);
    if (code == 0)
        *y = fad_square(t, left);
    return code;
}

static bool unknown_model(const char *path, const struct nist_set *set, struct complaint *complaint)
{
    char known[256] = "";
    for (const struct nist_model *m = nist_models; m->name != NULL; m++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", m->name);
    }
    return text_complain(complaint, path, set->name_line, "no model for data set '%s'; there is one for %s", set->name,
                         known);
}

/* The file's own counts have to be those of the model, and log y has to exist. */
static bool fits(const char *path, const struct nist_set *set, const struct nist_model *model,
                 struct complaint *complaint)
{
    if (set->parameters != model->parameters || set->predictors != model->predictors)
        return text_complain(complaint, path, set->name_line,
                             "%s has %zu parameters and %zu predictors, the file %zu and %zu", model->name,
                             model->parameters, model->predictors, set->parameters, set->predictors);
    for (size_t i = 0; model->log_response && i < set->observations; i++) {
        double y = set->rows[i * (1 + set->predictors)];
        if (!(y > 0))
            return text_complain(complaint, path, set->data_line + i, "y is %.17g, but the model takes its logarithm",
                                 y);
    }
    return true;
}

bool nist_load_with_model(const char *path, struct nist_set *set, const struct nist_model **model,
                          struct complaint *complaint)
{
    struct nist_set read;
    if (!nist_load(path, &read, complaint))
        return false;
    const struct nist_model *found = nist_models;
    while (found->name != NULL && strcmp(found->name, read.name) != 0)
        found++;
    if (found->name == NULL ? unknown_model(path, &read, complaint) : fits(path, &read, found, complaint)) {
        *set = read;
        *model = found;
        return true;
    }
    nist_release(&read);
    return false;
}
