/** @file duals.h  Rules evaluated with numbers: values with tangents in several directions. */
#ifndef FADI_DUALS_H
#define FADI_DUALS_H

#include "ad/rules.h"
#include "ad/second.h"

/** A rule builds at most so many values, the operands and the result among them. */
#define FADI_DUALS 24u

struct fadi_duals {
    struct fadi_maker maker; /* first: what rules build with */
    unsigned count;          /* values so far */
    size_t directions;
    double value[FADI_DUALS], tangent[FADI_DUALS][FADI_DIRECTIONS];
};

void fadi_duals_start(struct fadi_duals *m, size_t directions);
/** A new value, whose tangents the caller sets. */
fadi_ref fadi_duals_add(struct fadi_duals *m, double v);

/** The table's value and partials of one or two operands; of one, y does not matter. Kinds that the table has
 * expressions for. */
double fadi_op_value(unsigned op, double x, double y);
double fadi_op_partial(unsigned op, double x, double y, double v, unsigned operand);

#endif
