/* Random expressions over all operations of real.h: run on a tape or on plain numbers, and evaluated a second time in long
 * double, with derivatives carried forward and a bound for what the first way may have lost.
 *
 * The bound. u = 2^-53. Let v be the doubles that the operations really gave. For each operation the reference
 * evaluates partial derivatives in long double at those v, so that a recorded partial p' differs from the reference's p only
 * by the operation's own error, |p' - p| <= dp, which the table in expression_rules.c derives for each. Forward,
 *     G = sum of p G_operand        the gradient
 *     A = sum of |p| A_operand      the sum over all paths of the products of |p|
 *     E = sum of |p| E_operand + dp (A_operand + E_operand)
 * so that E bounds the error that partials cause. The sweep itself multiplies along each path and adds the paths up:
 * every path meets at most `edges` roundings, edges being the operands of all operations, so it adds at most
 * gamma (A + E) with gamma = edges u / (1 - edges u).
 *
 * A rewritten form of the same operations (a program, which fuses products and sums) has other doubles in between. For it
 * everything is evaluated at the exact values: each register's error V is carried along, V = sum of |p| V_operand + dv, and a
 * partial may also be off by what it changes by when the operands move by their V, which the rules are asked. */
#ifndef TESTS_EXPRESSION_H
#define TESTS_EXPRESSION_H

#include "tests/ad_support.h"

enum { EXPRESSION_INPUTS = 6, EXPRESSION_STEPS = 48, EXPRESSION_OPERANDS = 8 };
enum { EXPRESSION_REGISTERS = EXPRESSION_INPUTS + EXPRESSION_STEPS };

enum operation {
    OP_CONSTANT,
    OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_NEG, OP_SQUARE, OP_FMA, OP_INV, OP_ABS, OP_MAX, OP_MIN, OP_SQRT, OP_CBRT,
    OP_HYPOT, OP_POW, OP_EXP, OP_EXPM1, OP_LOG, OP_LOG1P, OP_LOG1PEXP, OP_SIN, OP_COS, OP_TAN, OP_ASIN, OP_ACOS,
    OP_ATAN, OP_ATAN2, OP_SINH, OP_COSH, OP_TANH, OP_ERF, OP_ERFC, OP_LGAMMA, OP_TGAMMA,
    OP_SELECT_LT, OP_SELECT_LE, OP_SELECT_MIXED, /* operands: two to compare, two to choose from */
    OP_DOT, OP_DOT_D, OP_SUM_OF, OP_LOGSUMEXP, OP_NORM2,
    OP_POW_D, /* to a constant */
    OP_COUNT
};

struct step {
    enum operation op;
    unsigned count; /* operands */
    unsigned char operand[EXPRESSION_OPERANDS]; /* registers; OP_DOT: the first half times the second */
    double constant[EXPRESSION_OPERANDS]; /* OP_CONSTANT: the first; OP_DOT_D: the left factors; OP_POW_D: the first */
};

/* Registers 0 .. EXPRESSION_INPUTS - 1 are the inputs, each step makes the next one, the last one is the result. */
struct expression {
    unsigned steps;
    struct step step[EXPRESSION_STEPS];
};

/* One operation in long double. */
struct rule {
    long double value, value_loss; /* the operation's own error, at most */
    long double partial[EXPRESSION_OPERANDS], partial_loss[EXPRESSION_OPERANDS];
    long double nearness; /* of the two numbers that a choice was made by; otherwise infinite */
};
void rule_of(const struct step *s, const long double *operand, struct rule *rule);
/* Adds to the partials' losses what they change by when operands move by their errors. */
void rule_spread(const struct step *s, const long double *operand, const long double *error, struct rule *rule);
/* Whether it may choose the other operand: the two numbers that it compares are closer than their errors. */
bool rule_unclear(const struct step *s, const struct rule *rule, const long double *register_error);

struct reference {
    long double value, value_error; /* value_error is infinite where a choice may have gone the other way */
    long double gradient[EXPRESSION_INPUTS], paths[EXPRESSION_INPUTS], error[EXPRESSION_INPUTS];
    unsigned edges;
    long double steepest; /* the largest sum over paths of any register */
};

/* Any operands: steps outside of where an operation is smooth and moderate are rejected, given these inputs. */
void expression_wild(struct expression *e, struct dice *d, const double *inputs, unsigned steps);
/* Operands are brought into a safe interval first: works for all inputs of moderate size. Every operation occurs in time. */
void expression_tame(struct expression *e, struct dice *d, unsigned steps);

/* Smooth and not too steep on these operands. */
bool step_acceptable(const struct step *s, const long double *operand);
/* Makes the last of at least three steps the sum of the registers before it, so that the result depends on much. */
void expression_finish(struct expression *e, unsigned steps);

/* A step of that kind on operands 0, 1, ..., and on random registers below `registers`. */
void step_random(struct step *s, enum operation op, struct dice *d);
void step_random_on(struct step *s, enum operation op, struct dice *d, unsigned registers);

/* registers may be NULL; else EXPRESSION_REGISTERS of them receive all results. */
fad_real expression_run(fad_tape *t, const struct expression *e, const fad_real *inputs, fad_real *registers);
/* What one step does. */
fad_real expression_step(fad_tape *t, const struct step *s, const fad_real *registers);
void expression_reference(const struct expression *e, const double *inputs, struct reference *r);
/* The same for any form of the operations. value is exact; all errors are infinite where a choice may go either way. */
void expression_reference_any(const struct expression *e, const double *inputs, struct reference *r);
/* The value in long double throughout: what differences are made from. */
long double expression_exact(const struct expression *e, const long double *inputs);
/* Whether values and gradients on an empty tape keep to the bounds, and central differences agree. False: why[room] says what
 * does not. */
bool expression_holds(fad_tape *t, const struct expression *e, const double *inputs, char *why, size_t room);
/* A hash of how all choices come out there: what lies between points with different ones has a kink or a jump. */
uint64_t expression_choices(const struct expression *e, const long double *inputs);
const char *operation_name(enum operation op);

#endif
