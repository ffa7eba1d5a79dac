/* What is agreed for operations at points where systems differ: kinks, singular and infinite operands, ties. */
#ifndef TESTS_CORNERS_H
#define TESTS_CORNERS_H

#include "tests/expression.h"

enum { CORNER_OPERANDS = 4 };

struct corner {
    enum operation op;
    unsigned count;
    double x[CORNER_OPERANDS];
    double value, partial[CORNER_OPERANDS]; /* value: NaN if it is not looked at */
};
extern const struct corner corners[];
extern const size_t corner_count;

/* Equal in all bits; any expected NaN is the one NaN that gradients have. */
bool is_output(double got, double expected);

#endif
