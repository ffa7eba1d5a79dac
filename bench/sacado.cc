/* Sacado's reverse mode (RAD), which records while it computes and sweeps once. */
#include "others.h"
#include "terms.hh"

#include <Sacado_trad.hpp>

namespace {

using Real = Sacado::Rad::ADvar<double>;

double value(const Real &x)
{
    return x.val();
}

void sweep(const Real &sum, const std::vector<Real> &theta, double *out)
{
    Real::Gradcomp();
    out[0] = sum.val();
    for (std::size_t j = 0; j < theta.size(); j++)
        out[1 + j] = theta[j].adj();
}

} // namespace

int sacado_logistic(void *problem, unsigned, double *out)
{
    const auto &l = *static_cast<const logistic_problem *>(problem);
    std::vector<Real> theta(l.theta, l.theta + l.p);
    Real sum = 0.0;
    for (std::size_t i = 0; i < l.n; i++) {
        const double *row = l.rows + i * (l.p + 1);
        sum += logistic_row(l.p, theta.data(), row, row[l.p]);
    }
    sweep(sum, theta, out);
    return 0;
}

/* Swept after each row, so that the recording stays in the cache; the parameters are made anew each time. */
int sacado_logistic_rows(void *problem, unsigned, double *out)
{
    const auto &l = *static_cast<const logistic_problem *>(problem);
    std::vector<double> one(1 + l.p);
    std::fill(out, out + 1 + l.p, 0.0);
    for (std::size_t i = 0; i < l.n; i++) {
        const double *row = l.rows + i * (l.p + 1);
        std::vector<Real> theta(l.theta, l.theta + l.p);
        Real y = logistic_row(l.p, theta.data(), row, row[l.p]);
        sweep(y, theta, one.data());
        for (std::size_t j = 0; j <= l.p; j++)
            out[j] += one[j];
    }
    return 0;
}

int sacado_gmm(void *problem, unsigned, double *out)
{
    const auto &g = *static_cast<const gmm_problem *>(problem);
    std::vector<Real> theta(g.theta, g.theta + g.p);
    Real sum = gmm_sum(g, theta.data(), value);
    sweep(sum, theta, out);
    return 0;
}
