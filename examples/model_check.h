/** @file model_check.h  Closed forms of the peak models and their derivatives, to check results with. */
#ifndef EXAMPLES_MODEL_CHECK_H
#define EXAMPLES_MODEL_CHECK_H

#include "model_file.h"

#define MODEL_LN_2 0.69314718055994530942

/** How far results are from the closed forms: each relative to the sum of the absolute values of what is added up in
 * it, so that cancellation in the formula itself does not count. */
struct deviation {
    double value, dx, parameter; /**< parameter: the largest of all models */
    double allowed;              /**< by rounding */
};

/** Compares value, dx and the gradients in models[count] at x; leaf as fad_sum_leaf gives it. */
struct deviation models_check(const struct model *models, size_t count, double x, double value, double dx, size_t leaf);

/** False also where a deviation is not a number. */
bool deviation_allowed(const struct deviation *deviation);

#endif
