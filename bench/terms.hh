/** @file terms.hh  The terms once more, for operator-overloading numbers. Data is double or what the library wants it to be. */
#ifndef BENCH_TERMS_HH
#define BENCH_TERMS_HH

#include "problems.h"

#include <cmath>
#include <vector>

/** data(i): the row's i-th number. */
template <typename Real, typename Data> Real logistic_row(std::size_t p, const Real *theta, const Data &data)
{
    using std::exp;
    using std::log;
    Real z = theta[0] * data(0);
    for (std::size_t j = 1; j < p; j++)
        z += theta[j] * data(j);
    return log(exp(z) + 1.0) - z * data(p);
}

/** The models of curve fits. */
struct misra {
    template <typename Real, typename Data> static Real at(const Real *b, const Data &x)
    {
        using std::exp;
        return b[0] * (1.0 - exp(-b[1] * x));
    }
};

struct expcos {
    template <typename Real, typename Data> static Real at(const Real *b, const Data &x)
    {
        using std::cos;
        using std::exp;
        return b[0] * exp(-b[1] * x) * cos(b[2] * x);
    }
};

struct rational {
    template <typename Real, typename Data> static Real at(const Real *b, const Data &x)
    {
        return (b[0] + x * (b[1] + x * (b[2] + x * b[3]))) / (1.0 + x * (b[4] + x * (b[5] + x * b[6])));
    }
};

template <typename Model, typename Real, typename Data> Real fit_row(const Real *theta, const Data &data)
{
    Real r = Model::at(theta, data(0)) - data(1);
    return r * r;
}

/** One model; x are its own numbers. */
template <typename Real> Real rbf_model(const rbf_problem &r, const Real *at, const Real *x)
{
    using std::exp;
    Real sum = 0.0;
    for (std::size_t j = 0; j < r.centres; j++, x += r.d + 1) {
        Real distance = 0.0;
        for (std::size_t i = 0; i < r.d; i++) {
            Real difference = at[i] - x[i];
            distance += difference * difference;
        }
        sum += x[r.d] * exp(-distance);
    }
    return sum;
}

/** What does not depend on the point: exp(q), and alpha + sum of q. */
template <typename Real> struct gmm_prepared {
    std::vector<Real> e, offset;

    gmm_prepared(const gmm_problem &g, const Real *theta) : e(g.k * g.d), offset(g.k)
    {
        using std::exp;
        const Real *q = theta + g.k + g.k * g.d;
        for (std::size_t j = 0; j < g.k; j++) {
            offset[j] = theta[j];
            for (std::size_t i = 0; i < g.d; i++) {
                e[j * g.d + i] = exp(q[j * g.d + i]);
                offset[j] += q[j * g.d + i];
            }
        }
    }
};

/** The shift of logsumexp, on which the result does not depend, starts as larger(s_0) and goes on as larger(shift, s_j). */
template <typename Real, typename Data, typename Larger>
Real gmm_point(const gmm_problem &g, const Real *theta, const gmm_prepared<Real> &prepared, const Data &data,
               const Larger &larger)
{
    using std::exp;
    using std::log;
    const std::size_t d = g.d, K = g.k;
    const Real *mu = theta + K, *l = mu + 2 * K * d;
    std::vector<Real> s(K), c(d);
    for (std::size_t j = 0; j < K; j++, mu += d) {
        Real quad = 0.0;
        for (std::size_t i = 0; i < d; i++)
            c[i] = data(i) - mu[i];
        for (std::size_t i = 0; i < d; l += i, i++) {
            Real v = prepared.e[j * d + i] * c[i];
            for (std::size_t m = 0; m < i; m++)
                v += l[m] * c[m];
            quad += v * v;
        }
        s[j] = prepared.offset[j] - 0.5 * quad;
    }
    auto most = larger(s[0]);
    for (std::size_t j = 1; j < K; j++)
        most = larger(most, s[j]);
    Real sum = exp(s[0] - most);
    for (std::size_t j = 1; j < K; j++)
        sum += exp(s[j] - most);
    return log(sum) + most;
}

#endif
