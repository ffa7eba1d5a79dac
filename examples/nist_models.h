/** @file nist_models.h  The models of the NIST StRD nonlinear regression sets, as terms of a differentiable sum. */
#ifndef EXAMPLES_NIST_MODELS_H
#define EXAMPLES_NIST_MODELS_H

#include "nist_file.h"

#include <foldad/foldad.h>

/** A published model. */
struct nist_model {
    const char *name;    /**< of the data set */
    const char *formula; /**< as NIST writes it */
    size_t parameters, predictors;
    bool log_response;   /**< the model is one of log y, so y has to be positive */
    fad_term *residual;  /**< of observation k, with x = (y, predictors...): what the model leaves of the response */
};

/** The table, ended by an entry without a name. */
extern const struct nist_model nist_models[];

/** The term of a sum of squares: the square of the residual of the model that user points to. */
fad_term nist_square;

/** Reads the file at path and finds the model of its name.
 * Ownership: *set is released by nist_release
 * Errors:    false with the complaint, also where file and model do not fit together; outputs untouched */
bool nist_load_with_model(const char *path, struct nist_set *set, const struct nist_model **model,
                          struct complaint *complaint);

#endif
