/* See expression.h: how random expressions are made. */
#include "tests/expression.h"

#include <math.h>
#include <string.h>

static unsigned operands_of(enum operation op, struct dice *d)
{
    switch (op) {
    case OP_CONSTANT:
        return 0;
    case OP_FMA:
        return 3;
    case OP_ADD: case OP_SUB: case OP_MUL: case OP_DIV: case OP_MAX: case OP_MIN: case OP_HYPOT: case OP_POW:
    case OP_ATAN2:
        return 2;
    case OP_SELECT_LT: case OP_SELECT_LE: case OP_SELECT_MIXED:
        return 4;
    case OP_DOT:
        return 2 * (1 + (unsigned)dice_below(d, EXPRESSION_OPERANDS / 2));
    case OP_DOT_D: case OP_SUM_OF: case OP_LOGSUMEXP: case OP_NORM2:
        return 1 + (unsigned)dice_below(d, EXPRESSION_OPERANDS);
    default:
        return 1;
    }
}

/* A step on registers below `registers`; arrays are runs of neighbours half of the time, because those are recorded in
 * another form. */
void step_random_on(struct step *s, enum operation op, struct dice *d, unsigned registers)
{
    bool run = dice_bits(d) & 1;
    memset(s, 0, sizeof *s);
    s->op = op;
    s->count = operands_of(op, d);
    unsigned start = (unsigned)dice_below(d, registers);
    for (unsigned i = 0; i < EXPRESSION_OPERANDS; i++) {
        s->operand[i] = (unsigned char)(run && start + i < registers ? start + i : dice_below(d, registers));
        s->constant[i] = dice_between(d, -2, 2);
    }
    if (op == OP_POW_D && dice_bits(d) & 1) { /* exponents that invite to be treated on their own */
        static const double special[] = {0, 1, 2, 3, 0.5, -0.5, -1, -2};
        s->constant[0] = special[dice_below(d, sizeof special / sizeof *special)];
    }
}

void step_random(struct step *s, enum operation op, struct dice *d)
{
    step_random_on(s, op, d, EXPRESSION_INPUTS);
    for (unsigned i = 0; i < EXPRESSION_OPERANDS; i++)
        s->operand[i] = (unsigned char)i;
}

static bool moderate(long double v)
{
    return isfinite(v) && fabsl(v) < 1e6L;
}

bool step_acceptable(const struct step *s, const long double *operand)
{
    struct rule r;
    long double x = s->count ? operand[0] : 0;
    if ((s->op == OP_POW || s->op == OP_POW_D) && x <= 0)
        return false;
    if ((s->op == OP_LGAMMA || s->op == OP_TGAMMA) && (x < -20 || fabsl(x - roundl(x)) < 1e-3L) && x < 0.5L)
        return false;
    rule_of(s, operand, &r);
    if (!moderate(r.value) || (r.value != 0 && fabsl(r.value) < 1e-9L) || r.nearness == 0)
        return false;
    for (unsigned i = 0; i < s->count; i++)
        if (!moderate(r.partial[i]))
            return false;
    return true;
}

void expression_finish(struct expression *e, unsigned steps)
{
    struct step *s = e->step + steps - 1;
    memset(s, 0, sizeof *s);
    s->op = OP_SUM_OF;
    s->count = EXPRESSION_OPERANDS;
    for (unsigned i = 0; i < s->count; i++)
        s->operand[i] = (unsigned char)(EXPRESSION_INPUTS + steps - 1 - s->count + i);
    e->steps = steps;
}

void expression_wild(struct expression *e, struct dice *d, const double *inputs, unsigned steps)
{
    fad_real r[EXPRESSION_REGISTERS];
    long double operand[EXPRESSION_OPERANDS];
    for (unsigned j = 0; j < EXPRESSION_INPUTS; j++)
        r[j] = fad_const(inputs[j]);
    for (unsigned i = 0; i + 1 < steps; i++) {
        struct step *s = e->step + i;
        unsigned to = EXPRESSION_INPUTS + i;
        do {
            step_random_on(s, (enum operation)dice_below(d, OP_COUNT), d, to);
            for (unsigned k = 0; k < s->count; k++)
                operand[k] = r[s->operand[k]].value;
        } while (!step_acceptable(s, operand));
        r[to] = expression_step(NULL, s, r);
    }
    expression_finish(e, steps);
}

/* Operations that want their operand in (-1/2, 1/2) and not in (1, 2). */
static bool near_zero(enum operation op)
{
    return op == OP_ASIN || op == OP_ACOS || op == OP_TAN;
}

/* tanh of anything, then into an interval where the operation that follows is smooth. */
static void bring_in(struct step *two, enum operation op, struct dice *d, unsigned registers)
{
    bool unit = near_zero(op);
    step_random_on(two, OP_TANH, d, registers);
    memset(two + 1, 0, sizeof two[1]);
    two[1].op = OP_DOT_D;
    two[1].count = 2; /* 0.4 t + 1.5 or 0.1, the factor of which is the constant 1 that expression_tame begins with */
    two[1].operand[0] = (unsigned char)registers;
    two[1].operand[1] = EXPRESSION_INPUTS;
    two[1].constant[0] = 0.4;
    two[1].constant[1] = unit ? 0.1 : 1.5;
}

void expression_tame(struct expression *e, struct dice *d, unsigned steps)
{
    unsigned i = 0;
    step_random_on(e->step, OP_CONSTANT, d, EXPRESSION_INPUTS);
    e->step[i++].constant[0] = 1.0;
    while (i + 4 < steps) {
        enum operation op = (enum operation)(1 + dice_below(d, OP_COUNT - 1));
        unsigned from = EXPRESSION_INPUTS + i;
        bring_in(e->step + i, op, d, from);
        step_random_on(e->step + i + 2, op, d, from + 2);
        /* operands: the safe one, and earlier safe ones (or it again) */
        for (unsigned k = 0; k < EXPRESSION_OPERANDS; k++) {
            unsigned groups = (i - 1) / 3 + 1, pick = (unsigned)dice_below(d, groups);
            unsigned other = 1 + 3 * pick + 1;
            bool usable = k > 0 && !near_zero(op) && e->step[other].constant[1] == 1.5;
            e->step[i + 2].operand[k] = (unsigned char)(usable ? EXPRESSION_INPUTS + other : from + 1);
        }
        i += 3;
    }
    while (i + 1 < steps) { /* a few sums, so that all is used */
        step_random_on(e->step + i, OP_SUM_OF, d, EXPRESSION_INPUTS + i);
        i++;
    }
    expression_finish(e, steps);
}
