/** @file rules.h  Partial derivatives of operations as expressions of operations: each rule is written once, and builds
 * graphs of programs as well as the second derivatives of a tape.
 *
 * A rule never looks at values. What depends on them is a comparison and a selection of the builder's, so a rule is right for
 * all values that the builder may put in later, and the expressions can be differentiated again: the conventions of
 * real.h hold for every order.
 *
 * Of an operation on values r = f(a_0, a_1, ..):  the tangent of r is the sum over i of stop(partial_i, tangent of a_i), and
 * the adjoint of a_i grows by stop(partial_i, adjoint of r), where stop(a, b) is 0 if one of the two is 0, whatever the other
 * one is. Operations on arrays have rules of their own, see second.c. */
#ifndef FADI_RULES_H
#define FADI_RULES_H

#include "ad/op.h"

#include <stdint.h>

/** A value of the builder's, or none. */
typedef uint32_t fadi_ref;
#define FADI_REF_NONE UINT32_MAX

/** What rules build with. Each call gives a new value (or an old one that is the same). A builder that fails notes that, and
 * returns any of its values. Threads: one at a time. */
struct fadi_maker {
    fadi_ref (*constant)(struct fadi_maker *m, double v);
    /** Kinds of FADI_UNARY_OPS and FADI_UNARY_INTERNAL. */
    fadi_ref (*unary)(struct fadi_maker *m, unsigned op, fadi_ref a);
    /** Kinds of FADI_BINARY_OPS and FADI_BINARY_INTERNAL. */
    fadi_ref (*binary)(struct fadi_maker *m, unsigned op, fadi_ref a, fadi_ref b);
    /** FADI_OP_LT or FADI_OP_EQ; used as the mask of select only. */
    fadi_ref (*compare)(struct fadi_maker *m, unsigned op, fadi_ref a, fadi_ref b);
    fadi_ref (*select)(struct fadi_maker *m, fadi_ref mask, fadi_ref a, fadi_ref b);
};

/** partial[i] = the derivative of `result`, which is operation op on operand[..], with respect to operand[i], for each i
 * whose bit is set in `wanted`; FADI_REF_NONE for the others. Of operations of one and two operands, but for those that
 * builders treat by themselves: sums, negation, products, max and min.
 * Returns FAD_OK, or FAD_EUNSUPPORTED for an operation that has no such rule. */
int fadi_partials(struct fadi_maker *m, unsigned op, const fadi_ref *operand, fadi_ref result, unsigned wanted,
                  fadi_ref *partial);

#endif
