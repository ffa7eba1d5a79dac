/* Sacado's reverse mode (RAD), which records while it computes and then sweeps. Swept after every few terms, so that the
 * recording stays in the cache and the parameters, made anew each time, cost little; _whole is swept once. */
#include "others.h"
#include "terms.hh"

#include <algorithm>

#include <Sacado_trad.hpp>

namespace {

using Real = Sacado::Rad::ADvar<double>;

void sweep(const Real &sum, const std::vector<Real> &theta, double *out)
{
    Real::Gradcomp();
    out[0] += sum.val();
    for (std::size_t j = 0; j < theta.size(); j++)
        out[1 + j] += theta[j].adj();
}

void logistic(const logistic_problem &l, std::size_t block, double *out)
{
    std::fill(out, out + 1 + l.p, 0.0);
    for (std::size_t first = 0; first < l.n; first += block) {
        std::vector<Real> theta(l.theta, l.theta + l.p);
        Real sum = 0.0;
        for (std::size_t i = first; i < std::min(first + block, l.n); i++) {
            const double *row = l.rows + i * (l.p + 1);
            sum += logistic_row(l.p, theta.data(), [row](std::size_t j) { return row[j]; });
        }
        sweep(sum, theta, out);
    }
}

template <typename Model> int fit(const void *problem, double *out)
{
    const auto &f = *static_cast<const fit_problem *>(problem);
    const std::size_t block = 64;
    std::fill(out, out + 1 + f.p, 0.0);
    for (std::size_t first = 0; first < f.n; first += block) {
        std::vector<Real> theta(f.theta, f.theta + f.p);
        Real sum = 0.0;
        for (std::size_t k = first; k < std::min(first + block, f.n); k++) {
            const double *row = f.data + 2 * k;
            sum += fit_row<Model>(theta.data(), [row](std::size_t j) { return row[j]; });
        }
        sweep(sum, theta, out);
    }
    return 0;
}

struct larger {
    double operator()(const Real &a) const { return a.val(); }
    double operator()(double a, const Real &b) const { return std::max(a, b.val()); }
};

} // namespace

int sacado_logistic(void *problem, unsigned, double *out)
{
    logistic(*static_cast<const logistic_problem *>(problem), 16, out);
    return 0;
}

int sacado_logistic_whole(void *problem, unsigned, double *out)
{
    const auto &l = *static_cast<const logistic_problem *>(problem);
    logistic(l, l.n, out);
    return 0;
}

int sacado_gmm(void *problem, unsigned, double *out)
{
    const auto &g = *static_cast<const gmm_problem *>(problem);
    const std::size_t block = 8;
    std::fill(out, out + 1 + g.p, 0.0);
    for (std::size_t first = 0; first < g.n; first += block) {
        std::vector<Real> theta(g.theta, g.theta + g.p);
        const gmm_prepared<Real> prepared(g, theta.data());
        Real sum = 0.0;
        for (std::size_t k = first; k < std::min(first + block, g.n); k++) {
            const double *x = g.points + k * g.d;
            sum += gmm_point(g, theta.data(), prepared, [x](std::size_t i) { return x[i]; }, larger());
        }
        sweep(sum, theta, out);
    }
    return 0;
}

int sacado_misra(void *problem, unsigned, double *out)
{
    return fit<misra>(problem, out);
}

int sacado_expcos(void *problem, unsigned, double *out)
{
    return fit<expcos>(problem, out);
}

int sacado_rational(void *problem, unsigned, double *out)
{
    return fit<rational>(problem, out);
}

int sacado_rbf(void *problem, unsigned, double *out)
{
    const auto &r = *static_cast<const rbf_problem *>(problem);
    const std::size_t block = 16, width = r.centres * (r.d + 1);
    std::fill(out, out + 1 + r.d, 0.0);
    for (std::size_t first = 0; first < r.n; first += block) {
        const std::size_t models = std::min(block, r.n - first);
        const double *data = r.x + first * width;
        std::vector<Real> at(r.at, r.at + r.d), x(data, data + models * width);
        Real sum = 0.0;
        for (std::size_t k = 0; k < models; k++)
            sum += rbf_model(r, at.data(), x.data() + k * width);
        sweep(sum, at, out);
        for (std::size_t j = 0; j < models * width; j++)
            out[1 + r.d + first * width + j] = x[j].adj();
    }
    return 0;
}
