/* See expression.h. */
#include "tests/expression.h"

#include <math.h>
#include <string.h>

static const char *const names[OP_COUNT] = {
    "constant", "add", "sub", "mul", "div", "neg", "square", "fma", "inv", "abs", "max", "min", "sqrt", "cbrt",
    "hypot", "pow", "exp", "expm1", "log", "log1p", "log1pexp", "sin", "cos", "tan", "asin", "acos",
    "atan", "atan2", "sinh", "cosh", "tanh", "erf", "erfc", "lgamma", "tgamma",
    "select lt", "select le", "select mixed", "dot", "dot_d", "sum_of", "logsumexp", "norm2",
    "pow_d",
};

const char *operation_name(enum operation op)
{
    return names[op];
}

/* ---- Running ---- */

typedef fad_real unary(fad_tape *, fad_real);
typedef fad_real binary(fad_tape *, fad_real, fad_real);

static unary *const unary_of[OP_COUNT] = {
    [OP_NEG] = fad_neg, [OP_SQUARE] = fad_square, [OP_INV] = fad_inv, [OP_ABS] = fad_abs, [OP_SQRT] = fad_sqrt,
    [OP_CBRT] = fad_cbrt, [OP_EXP] = fad_exp, [OP_EXPM1] = fad_expm1, [OP_LOG] = fad_log, [OP_LOG1P] = fad_log1p,
    [OP_LOG1PEXP] = fad_log1pexp, [OP_SIN] = fad_sin, [OP_COS] = fad_cos, [OP_TAN] = fad_tan, [OP_ASIN] = fad_asin,
    [OP_ACOS] = fad_acos, [OP_ATAN] = fad_atan, [OP_SINH] = fad_sinh, [OP_COSH] = fad_cosh, [OP_TANH] = fad_tanh,
    [OP_ERF] = fad_erf, [OP_ERFC] = fad_erfc, [OP_LGAMMA] = fad_lgamma, [OP_TGAMMA] = fad_tgamma,
};

static binary *const binary_of[OP_COUNT] = {
    [OP_ADD] = fad_add, [OP_SUB] = fad_sub, [OP_MUL] = fad_mul, [OP_DIV] = fad_div, [OP_MAX] = fad_max,
    [OP_MIN] = fad_min, [OP_HYPOT] = fad_hypot, [OP_POW] = fad_pow, [OP_ATAN2] = fad_atan2,
};

fad_real expression_step(fad_tape *t, const struct step *s, const fad_real *registers)
{
    fad_real a[EXPRESSION_OPERANDS];
    for (unsigned i = 0; i < s->count; i++)
        a[i] = registers[s->operand[i]];
    if (unary_of[s->op])
        return unary_of[s->op](t, a[0]);
    if (binary_of[s->op])
        return binary_of[s->op](t, a[0], a[1]);
    switch (s->op) {
    case OP_FMA:
        return fad_fma(t, a[0], a[1], a[2]);
    case OP_SELECT_LT:
        return fad_select(t, fad_lt(t, a[0], a[1]), a[2], a[3]);
    case OP_SELECT_LE:
        return fad_select(t, fad_not(t, fad_le(t, a[0], a[1])), a[2], a[3]);
    case OP_SELECT_MIXED:
        return fad_select(t, fad_or(t, fad_and(t, fad_lt(t, a[0], a[1]), fad_lt(t, a[0], 0.5)), fad_eq(t, a[0], a[1])),
                          a[2], a[3]);
    case OP_DOT:
        return fad_dot(t, s->count / 2, a, a + s->count / 2);
    case OP_DOT_D:
        return fad_dot_d(t, s->count, s->constant, a);
    case OP_SUM_OF:
        return fad_sum_of(t, s->count, a);
    case OP_LOGSUMEXP:
        return fad_logsumexp(t, s->count, a);
    case OP_NORM2:
        return fad_norm2(t, s->count, a);
    case OP_POW_D:
        return fad_pow(t, a[0], s->constant[0]);
    default:
        return fad_const(s->constant[0]);
    }
}

fad_real expression_run(fad_tape *t, const struct expression *e, const fad_real *inputs, fad_real *registers)
{
    fad_real own[EXPRESSION_REGISTERS], *r = registers ? registers : own;
    memcpy(r, inputs, EXPRESSION_INPUTS * sizeof *r);
    for (unsigned i = 0; i < e->steps; i++)
        r[EXPRESSION_INPUTS + i] = expression_step(t, e->step + i, r);
    return r[EXPRESSION_INPUTS + e->steps - 1];
}

/* ---- The second evaluation ---- */

/* Carries G, A and E of expression.h forward by one operation. */
static void carry(const struct step *s, const struct rule *rule, long double (*g)[EXPRESSION_INPUTS],
                  long double (*a)[EXPRESSION_INPUTS], long double (*e)[EXPRESSION_INPUTS], unsigned to)
{
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++) {
        long double gs = 0, as = 0, es = 0;
        for (unsigned i = 0; i < s->count; i++) {
            unsigned from = s->operand[i];
            long double p = rule->partial[i];
            if (a[from][j] == 0) /* does not depend on that input: whatever the partial is */
                continue;
            gs += p * g[from][j];
            as += fabsl(p) * a[from][j];
            es += fabsl(p) * e[from][j] + rule->partial_loss[i] * (a[from][j] + e[from][j]);
        }
        g[to][j] = gs;
        a[to][j] = as;
        e[to][j] = es;
    }
}

/* Twice the larger change, since bounds of first order are all that is asked for, and the resolution of long double. */
void rule_spread(const struct step *s, const long double *operand, const long double *error, struct rule *rule)
{
    long double moved[EXPRESSION_OPERANDS];
    struct rule up, down;
    memcpy(moved, operand, s->count * sizeof *moved);
    for (unsigned k = 0; k < s->count; k++) {
        if (error[k] == 0)
            continue;
        moved[k] = operand[k] + error[k];
        rule_of(s, moved, &up);
        moved[k] = operand[k] - error[k];
        rule_of(s, moved, &down);
        moved[k] = operand[k];
        for (unsigned i = 0; i < s->count; i++) {
            long double p = rule->partial[i];
            rule->partial_loss[i] += 2 * fmaxl(fabsl(up.partial[i] - p), fabsl(down.partial[i] - p)) + 0x1p-60L * fabsl(p);
        }
    }
}

bool rule_unclear(const struct step *s, const struct rule *rule, const long double *v_error)
{
    bool same = s->count > 1 && s->operand[0] == s->operand[1];
    long double near = s->count ? v_error[s->operand[0]] + v_error[s->operand[s->count > 1]] : 0;
    return !same && rule->nearness <= 4 * near;
}

struct registers {
    long double v[EXPRESSION_REGISTERS], v_error[EXPRESSION_REGISTERS];
    long double g[EXPRESSION_REGISTERS][EXPRESSION_INPUTS], a[EXPRESSION_REGISTERS][EXPRESSION_INPUTS],
        e[EXPRESSION_REGISTERS][EXPRESSION_INPUTS];
};

/* Register values: those that the operations give, or none yet. */
static void begin(const struct expression *e, const double *inputs, struct registers *r, bool any)
{
    fad_real plain[EXPRESSION_REGISTERS];
    memset(r->v_error, 0, sizeof r->v_error);
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++) {
        plain[j] = fad_const(inputs[j]);
        for (unsigned i = 0; i < EXPRESSION_INPUTS; i++) {
            r->g[j][i] = r->a[j][i] = i == j;
            r->e[j][i] = 0;
        }
    }
    if (!any)
        expression_run(NULL, e, plain, plain);
    for (unsigned i = 0; i < (any ? EXPRESSION_INPUTS : EXPRESSION_INPUTS + e->steps); i++)
        r->v[i] = plain[i].value;
}

/* False: what follows is worth nothing, since a choice is unclear or errors are too large for bounds of first order. */
static long double steepness(const struct registers *r, unsigned at)
{
    long double most = 0;
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
        most = fmaxl(most, r->a[at][j]);
    return most;
}

static bool one_step(const struct step *s, struct registers *r, unsigned to, bool any)
{
    long double operand[EXPRESSION_OPERANDS], error[EXPRESSION_OPERANDS], lost = 0;
    struct rule rule;
    for (unsigned k = 0; k < s->count; k++) {
        operand[k] = r->v[s->operand[k]];
        error[k] = r->v_error[s->operand[k]];
    }
    rule_of(s, operand, &rule);
    for (unsigned k = 0; k < s->count; k++)
        lost += fabsl(rule.partial[k]) * error[k];
    if (any) {
        rule_spread(s, operand, error, &rule);
        r->v[to] = rule.value;
    }
    carry(s, &rule, r->g, r->a, r->e, to);
    bool clear = !rule_unclear(s, &rule, r->v_error) && lost <= 1e-7L;
    r->v_error[to] = clear || any ? lost + rule.value_loss : INFINITY;
    return clear;
}

static void evaluate(const struct expression *e, const double *inputs, struct reference *r, bool any)
{
    static _Thread_local struct registers all;
    bool clear = true;
    memset(r, 0, sizeof *r);
    begin(e, inputs, &all, any);
    for (unsigned i = 0; i < e->steps; i++) {
        clear &= one_step(e->step + i, &all, EXPRESSION_INPUTS + i, any);
        r->edges += e->step[i].count;
        r->steepest = fmaxl(r->steepest, steepness(&all, EXPRESSION_INPUTS + i));
    }
    unsigned last = EXPRESSION_INPUTS + e->steps - 1;
    r->value = all.v[last];
    r->value_error = any && !clear ? INFINITY : all.v_error[last];
    memcpy(r->gradient, all.g[last], sizeof r->gradient);
    memcpy(r->paths, all.a[last], sizeof r->paths);
    memcpy(r->error, all.e[last], sizeof r->error);
    for (unsigned j = 0; any && !clear && j < EXPRESSION_INPUTS; j++)
        r->error[j] = INFINITY;
}

void expression_reference(const struct expression *e, const double *inputs, struct reference *r)
{
    evaluate(e, inputs, r, false);
}

void expression_reference_any(const struct expression *e, const double *inputs, struct reference *r)
{
    evaluate(e, inputs, r, true);
}

static long double exact(const struct expression *e, const long double *inputs, uint64_t *choices)
{
    long double r[EXPRESSION_REGISTERS], operand[EXPRESSION_OPERANDS];
    struct rule rule;
    memcpy(r, inputs, EXPRESSION_INPUTS * sizeof *r);
    for (unsigned i = 0; i < e->steps; i++) {
        for (unsigned k = 0; k < e->step[i].count; k++)
            operand[k] = r[e->step[i].operand[k]];
        rule_of(e->step + i, operand, &rule);
        r[EXPRESSION_INPUTS + i] = rule.value;
        if (isfinite(rule.nearness)) { /* by two operands, or by one and 0 or 1/2 */
            long double a = operand[0], b = operand[e->step[i].count > 1];
            *choices = mix(*choices, i << 4 | (a < b) | (a > b) << 1 | (a < 0) << 2 | (a < 0.5L) << 3);
        }
    }
    return r[EXPRESSION_INPUTS + e->steps - 1];
}

long double expression_exact(const struct expression *e, const long double *inputs)
{
    uint64_t choices = 0;
    return exact(e, inputs, &choices);
}

uint64_t expression_choices(const struct expression *e, const long double *inputs)
{
    uint64_t choices = 0;
    exact(e, inputs, &choices);
    return choices;
}
