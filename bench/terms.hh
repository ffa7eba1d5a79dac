/** @file terms.hh  The terms once more, for operator-overloading numbers. */
#ifndef BENCH_TERMS_HH
#define BENCH_TERMS_HH

#include "problems.h"

#include <cmath>
#include <vector>

/** Data is double, or ADOL-C's parameter. */
template <typename Real, typename Data>
Real logistic_row(std::size_t p, const Real *theta, const Data *row, const Data &label)
{
    using std::exp;
    using std::log;
    Real z = theta[0] * row[0];
    for (std::size_t j = 1; j < p; j++)
        z += theta[j] * row[j];
    return log(exp(z) + 1.0) - z * label;
}

/** One component's exponent; e is exp(q), sum_q its sum: neither depends on the point. */
template <typename Real>
Real gmm_exponent(std::size_t d, const double *x, const Real &offset, const Real *mu, const Real *e, const Real *l, Real *c)
{
    Real quad = 0.0;
    for (std::size_t i = 0; i < d; i++)
        c[i] = x[i] - mu[i];
    for (std::size_t i = 0; i < d; l += i, i++) {
        Real v = e[i] * c[i];
        for (std::size_t m = 0; m < i; m++)
            v += l[m] * c[m];
        quad += v * v;
    }
    return offset - 0.5 * quad;
}

/** The largest exponent as a plain number is subtracted: it drops out of the derivatives. */
template <typename Real, typename Value> Real gmm_logsumexp(const std::vector<Real> &s, Value value)
{
    using std::exp;
    using std::log;
    double most = value(s[0]);
    for (const Real &one : s)
        most = value(one) > most ? value(one) : most;
    Real sum = exp(s[0] - most);
    for (std::size_t j = 1; j < s.size(); j++)
        sum += exp(s[j] - most);
    return most + log(sum);
}

template <typename Real, typename Value> Real gmm_sum(const gmm_problem &g, const Real *theta, Value value)
{
    using std::exp;
    const std::size_t d = g.d, K = g.k, nl = d * (d - 1) / 2;
    const Real *alpha = theta, *mu = alpha + K, *q = mu + K * d, *l = q + K * d;
    std::vector<Real> e(K * d), offset(K), s(K), c(d);
    Real sum = 0.0;
    for (std::size_t j = 0; j < K; j++) {
        offset[j] = alpha[j];
        for (std::size_t i = 0; i < d; i++) {
            e[j * d + i] = exp(q[j * d + i]);
            offset[j] += q[j * d + i];
        }
    }
    for (std::size_t k = 0; k < g.n; k++) {
        for (std::size_t j = 0; j < K; j++)
            s[j] = gmm_exponent(d, g.points + k * d, offset[j], mu + j * d, &e[j * d], l + j * nl, c.data());
        sum += gmm_logsumexp(s, value);
    }
    return sum;
}

#endif
