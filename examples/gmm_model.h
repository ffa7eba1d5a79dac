/** @file gmm_model.h  The likelihood of a Gaussian mixture with a Wishart prior, as a differentiable sum.
 *
 * For points x_n, logits alpha, means mu and lower triangular factors Q_k with diagonal exp(q_k) and strictly lower part
 * L_k, the logarithm of the likelihood and minus that of the prior are
 *
 *     likelihood = - N D/2 log(2 pi) - N logsumexp(alpha)
 *                  + sum_n logsumexp_k(alpha_k + sum(q_k) - |Q_k (x_n - mu_k)|^2 / 2)
 *     penalty    = sum_k [gamma^2/2 (|exp(q_k)|^2 + |L_k|^2) - m sum(q_k)] - K C
 *
 * with C = n' D (log gamma - log(2)/2) - log Gamma_D(n'/2), n' = D + m + 1. The term shows loops and working memory
 * (fad_alloc), and is recorded once for all calls, as a program; what is not a sum over points is recorded on a tape of
 * one's own. */
#ifndef EXAMPLES_GMM_MODEL_H
#define EXAMPLES_GMM_MODEL_H

#include "gmm_file.h"

#include <foldad/foldad.h>

/** Working memory for one problem, used by one thread at a time. */
struct gmm_model {
    const struct gmm_problem *problem;
    fad_tape *tape;
    fad_real *in;     /**< the parameters, on the tape */
    double *gradient; /**< of what is recorded there */
    fad_program *program; /**< of the term, for all calls; NULL: none was made */
};

/** False: no memory. gmm_model_fini is called in any case; problem must outlive the model. */
bool gmm_model_init(struct gmm_model *model, const struct gmm_problem *problem);
void gmm_model_fini(struct gmm_model *model);

/** *value = sign * likelihood + penalty, and its gradient. With sign 1 this is the objective of the ADBench benchmark,
 * which has no minimum and no maximum: it grows without bound with the factor of a component that no point needs, and
 * falls without bound where the means move away from the points. With -1 it is minus the logarithm of the posterior:
 * bounded below, so that it can be minimised.
 * Shapes:    parameter and gradient as in the file of the problem
 * Errors:    of fad_sum_gradient and fad_tape_reverse; *value untouched */
int gmm_objective(struct gmm_model *model, fad_pool *pool, const double *parameter, double sign, double *value,
                  double *gradient, struct fad_failure *failure);

#endif
