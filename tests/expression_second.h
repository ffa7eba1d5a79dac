/* Second derivatives of random expressions, in long double. */
#ifndef TESTS_EXPRESSION_SECOND_H
#define TESTS_EXPRESSION_SECOND_H

#include "tests/expression.h"

/* product: second derivatives times that direction. size: the sum of the absolute
 * values over all paths; loss: how far the operations' own errors may carry it. */
struct second {
    long double product[EXPRESSION_INPUTS], size[EXPRESSION_INPUTS], loss[EXPRESSION_INPUTS];
    bool clear; /* false: a choice may go either way, nothing above means anything */
};
void expression_second(const struct expression *e, const double *inputs, const double *direction, struct second *second);

#endif
