/* ADOL-C: traced once, then evaluated again and again. */
#include "others.h"
#include "terms.hh"

#include <adolc/adolc.h>

namespace {

/* Buffers so large that no trace goes to a file. */
constexpr std::size_t BUFFER = std::size_t(1) << 29;

enum Tag : short { LOGISTIC = 1, ROW, GMM };

void start(short tag)
{
    trace_on(tag, 1, BUFFER, BUFFER, BUFFER, BUFFER);
}

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

/* One forward sweep that keeps what the reverse sweep needs, and that. */
int evaluate(short tag, std::size_t p, const double *theta, double *out)
{
    double one = 1;
    int rc = zos_forward(tag, 1, static_cast<int>(p), 1, theta, out);
    if (rc >= 0)
        rc = fos_reverse(tag, 1, static_cast<int>(p), &one, out + 1);
    return rc < 0;
}

/* Whether the trace is of another problem than the last one; problems are told apart by their contents' addresses. */
bool changed(const double *&last, std::size_t &last_n, const double *now, std::size_t n)
{
    const bool other = last != now || last_n != n;
    last = now;
    last_n = n;
    return other;
}

void trace_logistic(const logistic_problem &l)
{
    start(LOGISTIC);
    {
        std::vector<adouble> theta = independents(l.theta, l.p);
        adouble sum = 0;
        for (std::size_t i = 0; i < l.n; i++) {
            const double *row = l.rows + i * (l.p + 1);
            sum += logistic_row(l.p, theta.data(), row, row[l.p]);
        }
        finish(sum);
    }
}

void trace_row(const logistic_problem &l)
{
    start(ROW);
    {
        std::vector<adouble> theta = independents(l.theta, l.p);
        adouble z = theta[0] * mkparam(l.rows[0]);
        for (std::size_t j = 1; j < l.p; j++)
            z += theta[j] * mkparam(l.rows[j]);
        adouble y = log(exp(z) + 1.0) - z * mkparam(l.rows[l.p]);
        finish(y);
    }
}

} // namespace

int adolc_logistic(void *problem, unsigned, double *out)
{
    static const double *last;
    static std::size_t last_n;
    const auto &l = *static_cast<const logistic_problem *>(problem);
    if (changed(last, last_n, l.rows, l.n))
        trace_logistic(l);
    return evaluate(LOGISTIC, l.p, l.theta, out);
}

int adolc_logistic_rows(void *problem, unsigned, double *out)
{
    static const double *last;
    static std::size_t last_n;
    const auto &l = *static_cast<const logistic_problem *>(problem);
    std::vector<double> one(1 + l.p), data(l.p + 1);
    if (changed(last, last_n, l.rows, l.n))
        trace_row(l);
    std::fill(out, out + 1 + l.p, 0.0);
    for (std::size_t i = 0; i < l.n; i++) {
        const double *row = l.rows + i * (l.p + 1);
        std::copy(row, row + l.p + 1, data.begin());
        set_param_vec(ROW, l.p + 1, data.data());
        if (evaluate(ROW, l.p, l.theta, one.data()))
            return 1;
        for (std::size_t j = 0; j <= l.p; j++)
            out[j] += one[j];
    }
    return 0;
}

int adolc_gmm(void *problem, unsigned, double *out)
{
    static const double *last;
    static std::size_t last_n;
    const auto &g = *static_cast<const gmm_problem *>(problem);
    if (changed(last, last_n, g.points, g.n)) {
        start(GMM);
        std::vector<adouble> theta = independents(g.theta, g.p);
        adouble sum = gmm_sum(g, theta.data(), [](const adouble &x) { return x.getValue(); });
        finish(sum);
    }
    return evaluate(GMM, g.p, g.theta, out);
}
