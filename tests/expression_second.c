/* See expression_second.h.
 *
 * Beside value v, gradient G and path sums A (expression.h) each register carries its derivative t in the direction, T = sum of
 * |p| T_operand, the products H, and B, the sum of all H's paths in absolute values. With P_ik = dp_i / dx_k
 *     H = sum_i p_i H_i + (sum_k P_ik t_k) G_i        B = sum_i |p_i| B_i + (sum_k |P_ik| T_k) A_i
 * and losses follow by the product rule, from dp_i as in expression.h and dP_ik.
 *
 * P comes from differences of the rules' partials in long double, four points at distances h and 2 h, h = 2^-12 of the operand (at
 * least of 1/8): they are off by about h^4 p'''''/30 < 2^-45 |p| / |x| for functions whose singularities are at least |x|
 * away, and by 2^-63 |p| / h. A library's own P loses some dozens of u = 2^-53 of |P| and |p| / |x|, more than which
 * its operands' errors do not add. All this is below dP_ik = 2^-38 (|P_ik| + (|p_i| + |p_k|) / max(|x_k|, 1/8)). */
#include "tests/expression_second.h"

#include <math.h>
#include <string.h>

#define INPUTS EXPRESSION_INPUTS

struct state {
    long double v[EXPRESSION_REGISTERS], v_error[EXPRESSION_REGISTERS];
    long double t[EXPRESSION_REGISTERS], t_size[EXPRESSION_REGISTERS], t_loss[EXPRESSION_REGISTERS];
    long double g[EXPRESSION_REGISTERS][INPUTS], g_size[EXPRESSION_REGISTERS][INPUTS], g_loss[EXPRESSION_REGISTERS][INPUTS];
    long double h[EXPRESSION_REGISTERS][INPUTS], h_size[EXPRESSION_REGISTERS][INPUTS], h_loss[EXPRESSION_REGISTERS][INPUTS];
};

/* One operation's second derivatives. */
struct curvature {
    long double p[EXPRESSION_OPERANDS][EXPRESSION_OPERANDS], loss[EXPRESSION_OPERANDS][EXPRESSION_OPERANDS];
};

/* Choices are linear on both sides. */
static bool piecewise_linear(enum operation op)
{
    return op == OP_ABS || op == OP_MAX || op == OP_MIN || op == OP_SELECT_LT || op == OP_SELECT_LE || op == OP_SELECT_MIXED;
}

static void curvature_of(const struct step *s, const long double *x, const struct rule *rule, struct curvature *c)
{
    static const long double weight[] = {1, -8, 8, -1}, place[] = {-2, -1, 1, 2};
    memset(c, 0, sizeof *c);
    if (piecewise_linear(s->op))
        return;
    for (unsigned k = 0; k < s->count; k++) {
        long double moved[EXPRESSION_OPERANDS], scale = fmaxl(fabsl(x[k]), 0.125L), h = 0x1p-12L * scale;
        memcpy(moved, x, s->count * sizeof *moved);
        for (unsigned m = 0; m < 4; m++) {
            struct rule there;
            moved[k] = x[k] + place[m] * h;
            rule_of(s, moved, &there);
            for (unsigned i = 0; i < s->count; i++)
                c->p[i][k] += weight[m] * there.partial[i] / (12 * h);
        }
        for (unsigned i = 0; i < s->count; i++)
            c->loss[i][k] = 0x1p-38L * (fabsl(c->p[i][k]) + (fabsl(rule->partial[i]) + fabsl(rule->partial[k])) / scale);
    }
}

/* The part of operand i: its own second derivatives through p_i, and p_i's change in the direction. */
static void carry_operand(const struct step *s, const struct rule *rule, const struct curvature *c, struct state *r,
                          unsigned i, unsigned to)
{
    unsigned from = s->operand[i];
    long double p = rule->partial[i], dp = rule->partial_loss[i], change = 0, change_size = 0, change_loss = 0;
    for (unsigned k = 0; k < s->count; k++) {
        unsigned other = s->operand[k];
        change += c->p[i][k] * r->t[other];
        change_size += fabsl(c->p[i][k]) * r->t_size[other];
        change_loss += fabsl(c->p[i][k]) * r->t_loss[other] + c->loss[i][k] * (r->t_size[other] + r->t_loss[other]);
    }
    r->t[to] += p * r->t[from];
    r->t_size[to] += fabsl(p) * r->t_size[from];
    r->t_loss[to] += fabsl(p) * r->t_loss[from] + dp * (r->t_size[from] + r->t_loss[from]);
    for (unsigned j = 0; j < INPUTS; j++) {
        long double size = r->g_size[from][j], loss = r->g_loss[from][j];
        r->g[to][j] += p * r->g[from][j];
        r->g_size[to][j] += fabsl(p) * size;
        r->g_loss[to][j] += fabsl(p) * loss + dp * (size + loss);
        r->h[to][j] += p * r->h[from][j] + change * r->g[from][j];
        r->h_size[to][j] += fabsl(p) * r->h_size[from][j] + change_size * size;
        r->h_loss[to][j] += fabsl(p) * r->h_loss[from][j] + dp * (r->h_size[from][j] + r->h_loss[from][j]) +
                            change_size * loss + change_loss * (size + loss);
    }
}

static bool one_step(const struct step *s, struct state *r, unsigned to)
{
    long double operand[EXPRESSION_OPERANDS], error[EXPRESSION_OPERANDS], lost = 0;
    struct rule rule;
    struct curvature c;
    for (unsigned k = 0; k < s->count; k++) {
        operand[k] = r->v[s->operand[k]];
        error[k] = r->v_error[s->operand[k]];
    }
    rule_of(s, operand, &rule);
    for (unsigned k = 0; k < s->count; k++)
        lost += fabsl(rule.partial[k]) * error[k];
    rule_spread(s, operand, error, &rule);
    curvature_of(s, operand, &rule, &c);
    for (unsigned i = 0; i < s->count; i++)
        carry_operand(s, &rule, &c, r, i, to);
    r->v[to] = rule.value;
    r->v_error[to] = lost + rule.value_loss;
    return !rule_unclear(s, &rule, r->v_error) && lost <= 1e-7L;
}

void expression_second(const struct expression *e, const double *inputs, const double *direction, struct second *second)
{
    static _Thread_local struct state r;
    unsigned last = INPUTS + e->steps - 1;
    memset(&r, 0, sizeof r);
    second->clear = true;
    for (unsigned j = 0; j < INPUTS; j++) {
        r.v[j] = inputs[j];
        r.t[j] = direction[j];
        r.t_size[j] = fabs(direction[j]);
        r.g[j][j] = r.g_size[j][j] = 1;
    }
    for (unsigned i = 0; i < e->steps; i++)
        second->clear &= one_step(e->step + i, &r, INPUTS + i);
    memcpy(second->product, r.h[last], sizeof second->product);
    memcpy(second->size, r.h_size[last], sizeof second->size);
    memcpy(second->loss, r.h_loss[last], sizeof second->loss);
}
