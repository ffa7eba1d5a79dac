/** @file nist_models.h  The models of the NIST StRD nonlinear regression sets, as terms of a differentiable sum. */
#ifndef EXAMPLES_NIST_MODELS_H
#define EXAMPLES_NIST_MODELS_H

#include <foldad/foldad.h>

/** A published model. The term of observation k has x = (y, predictors...) and gives the square of the residual. */
struct nist_model {
    const char *name;    /**< of the data set */
    const char *formula; /**< as NIST writes it */
    size_t parameters, predictors;
    bool log_response; /**< the model is one of log y, so y has to be positive */
    fad_term *term;
};

/** The table, ended by an entry without a name. */
extern const struct nist_model nist_models[];

#endif
