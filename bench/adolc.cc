/* ADOL-C. Traced once and then evaluated: a block of terms whose data are parameters of the trace, which stays in the cache
 * that way, again and again with other data. _whole is one trace of everything. */
#include "others.h"
#include "terms.hh"

#include <algorithm>

#include <adolc/adolc.h>

namespace {

enum Tag : short { LOGISTIC = 1, WHOLE, GMM, MISRA, EXPCOS, RATIONAL, RBF };

/* A block of terms: how many, and how many numbers each has. */
struct Block {
    std::size_t terms, width;
};

std::vector<adouble> independents(const double *theta, std::size_t p)
{
    std::vector<adouble> active(p);
    for (std::size_t j = 0; j < p; j++)
        active[j] <<= theta[j];
    return active;
}

void finish(adouble &sum)
{
    double value;
    sum >>= value;
    trace_off();
}

/* One forward sweep that keeps what the reverse sweep needs, and that; adds to out. */
int evaluate(short tag, std::size_t p, const double *theta, double *out)
{
    std::vector<double> one(1 + p);
    double weight = 1;
    if (zos_forward(tag, 1, static_cast<int>(p), 1, theta, one.data()) < 0 ||
        fos_reverse(tag, 1, static_cast<int>(p), &weight, one.data() + 1) < 0)
        return 1;
    for (std::size_t j = 0; j <= p; j++)
        out[j] += one[j];
    return 0;
}

/* The largest number of terms that divides n and gives about as many operations as fit the cache. */
std::size_t block_of(std::size_t n, std::size_t operations)
{
    std::size_t terms = std::max<std::size_t>(1, std::min(n, 25000 / operations));
    while (n % terms)
        terms--;
    return terms;
}

int evaluate_blocks(short tag, std::size_t n, Block block, const double *data, std::size_t p, const double *theta, double *out)
{
    std::vector<double> parameters(block.terms * block.width);
    std::fill(out, out + 1 + p, 0.0);
    for (std::size_t first = 0; first < n; first += block.terms) {
        std::copy_n(data + first * block.width, parameters.size(), parameters.begin());
        set_param_vec(tag, parameters.size(), parameters.data());
        if (evaluate(tag, p, theta, out))
            return 1;
    }
    return 0;
}

/* The shape of what was traced last; the numbers in it are given at each evaluation. */
struct Traced {
    std::size_t terms = 0, p = 0;

    bool anew(std::size_t now_terms, std::size_t now_p)
    {
        const bool other = terms != now_terms || p != now_p;
        terms = now_terms;
        p = now_p;
        return other;
    }
};

void trace_logistic(const logistic_problem &l, std::size_t terms)
{
    trace_on(LOGISTIC, 1);
    std::vector<adouble> theta = independents(l.theta, l.p);
    adouble sum = 0;
    for (std::size_t i = 0; i < terms; i++) {
        const double *row = l.rows + i * (l.p + 1);
        sum += logistic_row(l.p, theta.data(), [row](std::size_t j) { return mkparam(row[j]); });
    }
    finish(sum);
}

template <typename Model> int fit(short tag, std::size_t operations, const void *problem, double *out)
{
    static Traced traced;
    const auto &f = *static_cast<const fit_problem *>(problem);
    const Block block = {block_of(f.n, operations), 2};
    if (traced.anew(block.terms, f.p)) {
        trace_on(tag, 1);
        std::vector<adouble> theta = independents(f.theta, f.p);
        adouble sum = 0;
        for (std::size_t k = 0; k < block.terms; k++) {
            adouble row[2];
            row[0] = mkparam(f.data[2 * k]);
            row[1] = mkparam(f.data[2 * k + 1]);
            sum += fit_row<Model>(theta.data(), [&row](std::size_t j) { return row[j]; });
        }
        finish(sum);
    }
    return evaluate_blocks(tag, f.n, block, f.data, f.p, f.theta, out);
}

/* Independents are the place and a block's own numbers. */
void trace_rbf(const rbf_problem &r, std::size_t models, const double *theta)
{
    const std::size_t width = r.centres * (r.d + 1);
    trace_on(RBF, 1);
    std::vector<adouble> active = independents(theta, r.d + models * width);
    adouble sum = 0;
    for (std::size_t k = 0; k < models; k++)
        sum += rbf_model(r, active.data(), active.data() + r.d + k * width);
    finish(sum);
}

struct larger {
    adouble operator()(const adouble &a) const { return a; }
    adouble operator()(const adouble &a, const adouble &b) const { return fmax(a, b); }
};

void trace_gmm(const gmm_problem &g, std::size_t terms)
{
    trace_on(GMM, 1);
    std::vector<adouble> theta = independents(g.theta, g.p);
    const gmm_prepared<adouble> prepared(g, theta.data());
    adouble sum = 0;
    for (std::size_t k = 0; k < terms; k++) {
        const double *x = g.points + k * g.d;
        std::vector<adouble> point(g.d);
        for (std::size_t i = 0; i < g.d; i++)
            point[i] = mkparam(x[i]);
        sum += gmm_point(g, theta.data(), prepared, [&point](std::size_t i) { return point[i]; }, larger());
    }
    finish(sum);
}

} // namespace

int adolc_logistic(void *problem, unsigned, double *out)
{
    static Traced traced;
    const auto &l = *static_cast<const logistic_problem *>(problem);
    const Block block = {block_of(l.n, 2 * l.p + 5), l.p + 1};
    if (traced.anew(block.terms, l.p))
        trace_logistic(l, block.terms);
    return evaluate_blocks(LOGISTIC, l.n, block, l.rows, l.p, l.theta, out);
}

/* Traces every time. The buffers are so large that no trace goes to a file. */
int adolc_logistic_whole(void *problem, unsigned, double *out)
{
    const std::size_t buffer = std::size_t(1) << 29;
    const auto &l = *static_cast<const logistic_problem *>(problem);
    std::fill(out, out + 1 + l.p, 0.0);
    trace_on(WHOLE, 1, buffer, buffer, buffer, buffer);
    {
        std::vector<adouble> theta = independents(l.theta, l.p);
        adouble sum = 0;
        for (std::size_t i = 0; i < l.n; i++) {
            const double *row = l.rows + i * (l.p + 1);
            sum += logistic_row(l.p, theta.data(), [row](std::size_t j) { return row[j]; });
        }
        finish(sum);
    }
    return evaluate(WHOLE, l.p, l.theta, out);
}

int adolc_gmm(void *problem, unsigned, double *out)
{
    static Traced traced;
    const auto &g = *static_cast<const gmm_problem *>(problem);
    const Block block = {block_of(g.n, g.k * (g.d * (g.d + 5) + 4)), g.d};
    if (traced.anew(block.terms, g.p))
        trace_gmm(g, block.terms);
    return evaluate_blocks(GMM, g.n, block, g.points, g.p, g.theta, out);
}

int adolc_misra(void *problem, unsigned, double *out)
{
    return fit<misra>(MISRA, 7, problem, out);
}

int adolc_expcos(void *problem, unsigned, double *out)
{
    return fit<expcos>(EXPCOS, 9, problem, out);
}

int adolc_rational(void *problem, unsigned, double *out)
{
    return fit<rational>(RATIONAL, 15, problem, out);
}

int adolc_rbf(void *problem, unsigned, double *out)
{
    static Traced traced;
    const auto &r = *static_cast<const rbf_problem *>(problem);
    const std::size_t width = r.centres * (r.d + 1), models = block_of(r.n, r.centres * (3 * r.d + 4)), own = models * width;
    std::vector<double> theta(r.at, r.at + r.d), one(1 + r.d + own);
    theta.resize(r.d + own);
    std::fill(out, out + 1 + r.d, 0.0);
    for (std::size_t first = 0; first < r.n; first += models) {
        std::copy_n(r.x + first * width, own, theta.begin() + static_cast<std::ptrdiff_t>(r.d));
        if (traced.anew(models, r.d))
            trace_rbf(r, models, theta.data());
        std::fill(one.begin(), one.end(), 0.0);
        if (evaluate(RBF, r.d + own, theta.data(), one.data()))
            return 1;
        for (std::size_t j = 0; j < 1 + r.d; j++)
            out[j] += one[j];
        std::copy_n(one.data() + 1 + r.d, own, out + 1 + r.d + first * width);
    }
    return 0;
}
