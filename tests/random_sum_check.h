/* What random sums are checked for. Failures end the cmocka test.
 *
 * The bound. Let `size` be the sum over all terms and all paths of the absolute values, `loss` what partial derivatives
 * may be off (expression.h). Each contribution to one number passes through at most K = leaf * operands roundings on its
 * leaf's tape and in its leaf's sum, and one in each of at most 64 levels of the tree; so the result is off by at most
 * loss + gamma (size + loss), gamma = (K + 64) u with u = 2^-53. In a program each operand may cost a product and a sum,
 * after which the elements' contributions are added up: 2 operands + leaf, which uniform sums are allowed on top. */
#ifndef TESTS_RANDOM_SUM_CHECK_H
#define TESTS_RANDOM_SUM_CHECK_H

#include "tests/random_sum.h"

/* All outputs (o->x may be NULL) are within the bound, and what belongs to no element has the pattern. False: the first value's bound says
 * nothing, because a choice in a term may go either way. */
bool check_outputs(const struct random_sum *r, const struct outputs *o);

void check_same(const struct random_sum *r, const char *what, const void *got, const void *expected, size_t bytes);

/* All choices of outputs have the bits of e, and what is not asked for is not touched. */
void check_subsets_of_outputs(const struct random_sum *r, const struct outputs *e, fad_pool *pool);

#endif
