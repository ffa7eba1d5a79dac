/** @file fit.h  What the two parts of the fit program share. */
#ifndef EXAMPLES_FIT_H
#define EXAMPLES_FIT_H

#include "common.h"
#include "progress.h"

/** Exit codes beside those of common.h. */
enum { EXIT_UNFINISHED = 3, EXIT_INTERRUPTED = 130 };

/** How a fit ended. */
enum ending {
    CONVERGED,
    OUT_OF_STEPS, /**< -n was reached */
    STUCK,        /**< the solver found no better point, but the gradient is not small */
    INTERRUPTED,
    FAILED,       /**< a call failed; it has been complained about */
};

struct fit_options {
    size_t workers, steps; /**< 0: the default */
    size_t start;          /**< of nist: 1 or 2; 0: both */
    double tolerance;
    bool quiet;
};

extern const struct program fit_program;

/** A word for tables. */
const char *ending_word(enum ending ending);

/** Says on standard error why a fit did not converge, if it did not. what names it. */
void complain_of_ending(enum ending ending, const char *what, size_t steps, double gradient, double tolerance);

/** The exit code that goes with it; an interrupted fit has the highest one. */
int ending_code(enum ending ending);

/** The parts. They return the exit code. */
int fit_nist(const struct fit_options *options, char *const *paths, size_t count);
int fit_gmm(const struct fit_options *options, const char *path);

#endif
