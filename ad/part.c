/** @file part.c  See part.h. Loops over lanes are written so that compilers make vectors of them; the number of lanes is
 * part of the definition (reduce.h) and not the machine's. */
#include "ad/part.h"

#include "ad/math.h"

#define LANES 8u
#define ALWAYS static inline __attribute__((always_inline))
/* Exponentials are taken so many at a time; whole rounds of lanes. */
#define BLOCK 256u

struct kind {
    size_t width, results;
    void (*identity)(double *s);
    void (*leaf)(const struct fad_part *p, const struct fadi_run *v, double *s);
    void (*join)(const double *l, const double *r, double *s);
    void (*finish)(const struct fad_part *p, const double *s, double *z);
    void (*finish_back)(const struct fad_part *p, const double *s, const double *seed, double *a);
    void (*join_back)(const double *l, const double *r, const double *a, double *la, double *ra);
    void (*leaf_back)(const struct fad_part *p, const struct fadi_run *v, const double *s, const double *a, double *to,
                      double *work);
};

/* A product with an adjoint: 0 stops. */
static inline double stop(double w, double p)
{
    return w == 0.0 ? 0.0 : w * p;
}

static void one_result(const struct fad_part *p, const double *s, double *z)
{
    (void)p;
    z[0] = s[0];
}

static void one_adjoint(const struct fad_part *p, const double *s, const double *seed, double *a)
{
    (void)p;
    (void)s;
    a[0] = seed[0];
}

/* ---- Sums ---- */

static double add_lanes(const double *s)
{
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

static void zero(double *s)
{
    s[0] = 0.0;
}

ALWAYS double sum_of(const double *v, size_t stride, size_t n)
{
    double s[LANES] = {0}, *tail = s;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            s[j] += v[(i + j) * stride];
    for (; i < n; i++)
        *tail++ += v[i * stride];
    return add_lanes(s);
}

static void sum_leaf(const struct fad_part *p, const struct fadi_run *v, double *s)
{
    const double *x = v->values + p->column;
    s[0] = v->stride == 1 ? sum_of(x, 1, v->count) : sum_of(x, v->stride, v->count);
}

static void sum_join(const double *l, const double *r, double *s)
{
    s[0] = l[0] + r[0];
}

static void sum_join_back(const double *l, const double *r, const double *a, double *la, double *ra)
{
    (void)l;
    (void)r;
    la[0] = ra[0] = a[0];
}

static void sum_leaf_back(const struct fad_part *p, const struct fadi_run *v, const double *s, const double *a, double *to,
                          double *work)
{
    (void)s;
    (void)work;
    for (size_t i = 0; i < v->count; i++)
        to[i * v->to_stride + p->column] += a[0];
}

static void weighted_leaf(const struct fad_part *p, const struct fadi_run *v, double *sum)
{
    const double *x = v->values + p->column, *w = v->values + p->weight;
    double s[LANES] = {0}, *tail = s;
    size_t i = 0, stride = v->stride;
    for (; i + LANES <= v->count; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            s[j] = fma(w[(i + j) * stride], x[(i + j) * stride], s[j]);
    for (; i < v->count; i++, tail++)
        *tail = fma(w[i * stride], x[i * stride], *tail);
    sum[0] = add_lanes(s);
}

static void weighted_leaf_back(const struct fad_part *p, const struct fadi_run *v, const double *s, const double *a,
                               double *to, double *work)
{
    const double *x = v->values + p->column, *w = v->values + p->weight;
    (void)s;
    (void)work;
    if (a[0] == 0.0)
        return;
    for (size_t i = 0; i < v->count; i++, to += v->to_stride) {
        to[p->column] = fma(a[0], w[i * v->stride], to[p->column]);
        to[p->weight] = fma(a[0], x[i * v->stride], to[p->weight]);
    }
}

/* ---- Products ---- */

static void one(double *s)
{
    s[0] = 1.0;
}

/* The lanes, and, if before is not NULL, for each value the product of those before it in its lane. */
ALWAYS void product_lanes(const double *v, size_t stride, size_t n, double *restrict lane, double *restrict before)
{
    double s[LANES];
    size_t i = 0;
    for (size_t j = 0; j < LANES; j++)
        s[j] = 1.0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            if (before)
                before[i + j] = s[j];
            s[j] *= v[(i + j) * stride];
        }
    for (size_t j = 0; i < n; i++, j++) {
        if (before)
            before[i] = s[j];
        s[j] *= v[i * stride];
    }
    for (size_t j = 0; j < LANES; j++)
        lane[j] = s[j];
}

static void product_leaf(const struct fad_part *p, const struct fadi_run *v, double *s)
{
    const double *x = v->values + p->column;
    double l[LANES];
    if (v->stride == 1)
        product_lanes(x, 1, v->count, l, NULL);
    else
        product_lanes(x, v->stride, v->count, l, NULL);
    s[0] = ((l[0] * l[1]) * (l[2] * l[3])) * ((l[4] * l[5]) * (l[6] * l[7]));
}

static void product_join(const double *l, const double *r, double *s)
{
    s[0] = l[0] * r[0];
}

static void product_join_back(const double *l, const double *r, const double *a, double *la, double *ra)
{
    la[0] = stop(a[0], r[0]);
    ra[0] = stop(a[0], l[0]);
}

/* The adjoint of each lane from that of the leaf: down the tree of the lanes. */
static void product_lane_adjoints(const double *l, double a, double *out)
{
    double two[4], four[2], a4[2], a2[4];
    for (size_t j = 0; j < 4; j++)
        two[j] = l[2 * j] * l[2 * j + 1];
    for (size_t j = 0; j < 2; j++)
        four[j] = two[2 * j] * two[2 * j + 1];
    for (size_t j = 0; j < 2; j++)
        a4[j] = stop(a, four[j ^ 1]);
    for (size_t j = 0; j < 4; j++)
        a2[j] = stop(a4[j / 2], two[j ^ 1]);
    for (size_t j = 0; j < LANES; j++)
        out[j] = stop(a2[j / 2], l[j ^ 1]);
}

/* From the last value back: after[j] is the adjoint times the values behind in the lane. */
ALWAYS void product_back(const double *v, size_t stride, size_t n, const double *restrict before, double *restrict after,
                         double *restrict to, size_t to_stride)
{
    double s[LANES];
    size_t whole = n / LANES * LANES;
    for (size_t i = n; i > whole; i--) {
        to[(i - 1) * to_stride] += stop(after[i - 1 - whole], before[i - 1]);
        after[i - 1 - whole] = stop(after[i - 1 - whole], v[(i - 1) * stride]);
    }
    for (size_t j = 0; j < LANES; j++)
        s[j] = after[j];
    for (size_t i = whole; i > 0; i -= LANES)
        for (size_t j = 0; j < LANES; j++) {
            to[(i - LANES + j) * to_stride] += stop(s[j], before[i - LANES + j]);
            s[j] = stop(s[j], v[(i - LANES + j) * stride]);
        }
}

static void product_leaf_back(const struct fad_part *p, const struct fadi_run *v, const double *s, const double *a,
                              double *to, double *work)
{
    const double *x = v->values + p->column;
    double l[LANES], after[LANES];
    (void)s;
    if (a[0] == 0.0)
        return;
    if (v->stride == 1)
        product_lanes(x, 1, v->count, l, work);
    else
        product_lanes(x, v->stride, v->count, l, work);
    product_lane_adjoints(l, a[0], after);
    if (v->stride == 1 && v->to_stride == 1)
        product_back(x, 1, v->count, work, after, to + p->column, 1);
    else
        product_back(x, v->stride, v->count, work, after, to + p->column, v->to_stride);
}

/* ---- Maxima and minima ---- */

static void lowest(double *s)
{
    s[0] = -INFINITY;
}

static void highest(double *s)
{
    s[0] = INFINITY;
}

/* As fad_max and fad_min. */
ALWAYS double choose(double a, double b, bool min)
{
    return (min ? a < b : a > b) || a != a ? a : b;
}

/* Lanes, because the order only matters to the sign of a zero, which nobody sees. */
ALWAYS double extreme_of(const double *v, size_t stride, size_t n, bool min)
{
    double s[LANES], r;
    size_t i = 0;
    for (size_t j = 0; j < LANES; j++)
        s[j] = v[0];
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++)
            s[j] = choose(s[j], v[(i + j) * stride], min);
    r = s[0];
    for (size_t j = 1; j < LANES; j++)
        r = choose(r, s[j], min);
    for (; i < n; i++)
        r = choose(r, v[i * stride], min);
    return r;
}

static double extreme(const struct fad_part *p, const struct fadi_run *v, bool min)
{
    const double *x = v->values + p->column;
    if (min)
        return v->stride == 1 ? extreme_of(x, 1, v->count, true) : extreme_of(x, v->stride, v->count, true);
    return v->stride == 1 ? extreme_of(x, 1, v->count, false) : extreme_of(x, v->stride, v->count, false);
}

static void max_leaf(const struct fad_part *p, const struct fadi_run *v, double *s)
{
    s[0] = extreme(p, v, false);
}

static void min_leaf(const struct fad_part *p, const struct fadi_run *v, double *s)
{
    s[0] = extreme(p, v, true);
}

static void max_join(const double *l, const double *r, double *s)
{
    s[0] = choose(l[0], r[0], false);
}

static void min_join(const double *l, const double *r, double *s)
{
    s[0] = choose(l[0], r[0], true);
}

static void halve(const double *l, const double *r, bool left, const double *a, double *la, double *ra)
{
    bool tie = l[0] == r[0];
    la[0] = tie ? 0.5 * a[0] : left ? a[0] : 0.0;
    ra[0] = tie ? 0.5 * a[0] : left ? 0.0 : a[0];
}

static void max_join_back(const double *l, const double *r, const double *a, double *la, double *ra)
{
    halve(l, r, l[0] > r[0] || l[0] != l[0], a, la, ra);
}

static void min_join_back(const double *l, const double *r, const double *a, double *la, double *ra)
{
    halve(l, r, l[0] < r[0] || l[0] != l[0], a, la, ra);
}

ALWAYS size_t count_equal(const double *v, size_t stride, size_t n, double s)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += v[i * stride] == s;
    return count;
}

/* Number of the first one that is s, or NaN if s is. */
static size_t find(const struct fad_part *p, const struct fadi_run *v, double s)
{
    const double *x = v->values + p->column;
    size_t i = 0;
    while (i + 1 < v->count && !(x[i * v->stride] == s || (s != s && x[i * v->stride] != x[i * v->stride])))
        i++;
    return i;
}

/* A chain in which each equal one halves what is left for those before it, so from the back. */
static void extreme_leaf_back(const struct fad_part *p, const struct fadi_run *v, const double *s, const double *a,
                              double *to, double *work)
{
    const double *x = v->values + p->column;
    double left = a[0];
    size_t equal, i = v->count;
    (void)work;
    to += p->column;
    if (left == 0.0)
        return;
    equal = v->stride == 1 ? count_equal(x, 1, v->count, s[0]) : count_equal(x, v->stride, v->count, s[0]);
    if (equal == 0 || equal == 1) {
        to[find(p, v, s[0]) * v->to_stride] += left;
        return;
    }
    while (equal) {
        i--;
        if (x[i * v->stride] != s[0])
            continue;
        if (--equal)
            left *= 0.5;
        to[i * v->to_stride] += left;
    }
}

static void no_lowest(double *s)
{
    s[0] = -INFINITY;
    s[1] = -1.0;
}

static void no_highest(double *s)
{
    s[0] = INFINITY;
    s[1] = -1.0;
}

static void argmax_leaf(const struct fad_part *p, const struct fadi_run *v, double *s)
{
    s[0] = extreme(p, v, false);
    s[1] = (double)(v->first + find(p, v, s[0]));
}

static void argmin_leaf(const struct fad_part *p, const struct fadi_run *v, double *s)
{
    s[0] = extreme(p, v, true);
    s[1] = (double)(v->first + find(p, v, s[0]));
}

static void argmax_join(const double *l, const double *r, double *s)
{
    bool left = l[0] >= r[0] || l[0] != l[0];
    s[0] = left ? l[0] : r[0];
    s[1] = left ? l[1] : r[1];
}

static void argmin_join(const double *l, const double *r, double *s)
{
    bool left = l[0] <= r[0] || l[0] != l[0];
    s[0] = left ? l[0] : r[0];
    s[1] = left ? l[1] : r[1];
}

static void arg_finish(const struct fad_part *p, const double *s, double *z)
{
    (void)p;
    z[0] = s[1];
}

/* Passive. */
static void arg_finish_back(const struct fad_part *p, const double *s, const double *seed, double *a)
{
    (void)p;
    (void)s;
    (void)seed;
    a[0] = a[1] = 0.0;
}

static void arg_join_back(const double *l, const double *r, const double *a, double *la, double *ra)
{
    (void)l;
    (void)r;
    (void)a;
    la[0] = la[1] = ra[0] = ra[1] = 0.0;
}

static void arg_leaf_back(const struct fad_part *p, const struct fadi_run *v, const double *s, const double *a, double *to,
                          double *work)
{
    (void)p;
    (void)v;
    (void)s;
    (void)a;
    (void)to;
    (void)work;
}

/* ---- log of a sum of exponentials: s[0] the largest, s[1] the sum of e^(v - s[0]) without one that is largest.
 * The adjoint a[0] is that of the result over the node. ---- */

static void no_terms(double *s)
{
    s[0] = -INFINITY;
    s[1] = 0.0;
}

/* e^(x - largest); among infinite ones 1 for equals */
static inline double soft(double x, double largest)
{
    return x == largest ? 1.0 : fadi_exp(x - largest);
}

/* e^(v - largest) of values at .. at + count - 1 in e; largest is finite. */
static void soft_block(const struct fad_part *p, const struct fadi_run *v, double largest, size_t at, size_t count, double *e)
{
    const double *x = v->values + at * v->stride + p->column;
    if (v->stride == 1)
        for (size_t i = 0; i < count; i++)
            e[i] = x[i] - largest;
    else
        for (size_t i = 0; i < count; i++)
            e[i] = x[i * v->stride] - largest;
    fadi_exp_all(count, e);
}

static double soft_rest(const struct fad_part *p, const struct fadi_run *v, double largest)
{
    double e[BLOCK], s[LANES] = {0};
    size_t own = find(p, v, largest);
    for (size_t at = 0; at < v->count; at += BLOCK) {
        size_t count = v->count - at < BLOCK ? v->count - at : BLOCK, i = 0;
        soft_block(p, v, largest, at, count, e);
        if (own - at < count)
            e[own - at] = 0.0;
        for (; i + LANES <= count; i += LANES)
            for (size_t j = 0; j < LANES; j++)
                s[j] += e[i + j];
        for (size_t j = 0; i < count; i++, j++)
            s[j] += e[i];
    }
    return add_lanes(s);
}

static void soft_leaf(const struct fad_part *p, const struct fadi_run *v, double *s)
{
    const double *x = v->values + p->column;
    s[0] = extreme(p, v, false);
    if (isfinite(s[0]))
        s[1] = soft_rest(p, v, s[0]);
    else
        s[1] = s[0] != s[0] ? s[0] : (double)count_equal(x, v->stride, v->count, s[0]) - 1.0;
}

static void soft_join(const double *l, const double *r, double *s)
{
    double m = choose(l[0], r[0], false);
    s[0] = m;
    if (m != m)
        s[1] = m;
    else if (l[0] == m)
        s[1] = l[1] + (1.0 + r[1]) * soft(r[0], m);
    else
        s[1] = r[1] + (1.0 + l[1]) * soft(l[0], m);
}

static void soft_finish(const struct fad_part *p, const double *s, double *z)
{
    (void)p;
    z[0] = s[0] + fadi_log1p(s[1]);
}

/* What of the node's adjoint goes to a child; scale: it over the whole sum. */
static double soft_share(const double *child, double largest, double scale)
{
    if (scale == 0.0 || largest != largest)
        return scale == 0.0 ? 0.0 : largest;
    return scale * ((1.0 + child[1]) * soft(child[0], largest));
}

static void soft_join_back(const double *l, const double *r, const double *a, double *la, double *ra)
{
    double s[2];
    soft_join(l, r, s);
    la[0] = soft_share(l, s[0], a[0] == 0.0 ? 0.0 : a[0] / (1.0 + s[1]));
    ra[0] = soft_share(r, s[0], a[0] == 0.0 ? 0.0 : a[0] / (1.0 + s[1]));
}

static void soft_leaf_back(const struct fad_part *p, const struct fadi_run *v, const double *s, const double *a, double *to,
                           double *work)
{
    const double *x = v->values + p->column;
    double e[BLOCK], scale = a[0] / (1.0 + s[1]);
    (void)work;
    if (a[0] == 0.0)
        return;
    to += p->column;
    if (!isfinite(s[0])) {
        for (size_t i = 0; i < v->count; i++)
            to[i * v->to_stride] += a[0] != a[0] || s[0] != s[0]               ? (double)NAN
                                    : s[0] > 0 && x[i * v->stride] == s[0] ? scale
                                                                          : 0.0;
        return;
    }
    for (size_t at = 0; at < v->count; at += BLOCK) {
        size_t count = v->count - at < BLOCK ? v->count - at : BLOCK;
        soft_block(p, v, s[0], at, count, e);
        for (size_t i = 0; i < count; i++)
            to[(at + i) * v->to_stride] = fma(scale, e[i], to[(at + i) * v->to_stride]);
    }
}

/* ---- Mean and variance: s = number, mean, sum of squares about the mean. a[1] and a[2] are those of s[1] and s[2]. ---- */

static void no_moments(double *s)
{
    s[0] = s[1] = s[2] = 0.0;
}

ALWAYS double squares_about(const double *v, size_t stride, size_t n, double mean)
{
    double s[LANES] = {0}, *tail = s;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t j = 0; j < LANES; j++) {
            double d = v[(i + j) * stride] - mean;
            s[j] = fma(d, d, s[j]);
        }
    for (; i < n; i++, tail++)
        *tail = fma(v[i * stride] - mean, v[i * stride] - mean, *tail);
    return add_lanes(s);
}

static void moments_leaf(const struct fad_part *p, const struct fadi_run *v, double *s)
{
    const double *x = v->values + p->column;
    size_t n = v->count, stride = v->stride;
    s[0] = (double)n;
    s[1] = (stride == 1 ? sum_of(x, 1, n) : sum_of(x, stride, n)) / s[0];
    s[2] = stride == 1 ? squares_about(x, 1, n, s[1]) : squares_about(x, stride, n, s[1]);
}

static void moments_join(const double *l, const double *r, double *s)
{
    double n = l[0] + r[0], d = r[1] - l[1];
    s[0] = n;
    s[1] = l[1] + d * (r[0] / n);
    s[2] = (l[2] + r[2]) + d * d * (l[0] * r[0] / n);
}

static double degrees(const struct fad_part *p, const double *s)
{
    return s[0] - (double)p->dof;
}

static void moments_finish(const struct fad_part *p, const double *s, double *z)
{
    z[0] = s[0] == 0.0 ? (double)NAN : s[1];
    z[1] = s[2] / degrees(p, s);
}

static void moments_finish_back(const struct fad_part *p, const double *s, const double *seed, double *a)
{
    a[0] = 0.0;
    a[1] = seed[0];
    a[2] = seed[1] == 0.0 ? 0.0 : seed[1] / degrees(p, s);
}

static void moments_join_back(const double *l, const double *r, const double *a, double *la, double *ra)
{
    double n = l[0] + r[0];
    double slope = stop(a[2], 2.0 * (r[1] - l[1]) * (l[0] * r[0] / n));
    la[0] = ra[0] = 0.0;
    la[1] = stop(a[1], l[0] / n) - slope;
    ra[1] = stop(a[1], r[0] / n) + slope;
    la[2] = ra[2] = a[2];
}

static void moments_leaf_back(const struct fad_part *p, const struct fadi_run *v, const double *s, const double *a,
                              double *to, double *work)
{
    const double *x = v->values + p->column;
    double level = a[1] / s[0], slope = 2.0 * a[2], mean = s[1];
    (void)work;
    to += p->column;
    if (a[2] == 0.0)
        for (size_t i = 0; i < v->count; i++)
            to[i * v->to_stride] += level;
    else if (v->stride == 1 && v->to_stride == 1)
        for (size_t i = 0; i < v->count; i++)
            to[i] += fma(slope, x[i] - mean, level);
    else
        for (size_t i = 0; i < v->count; i++)
            to[i * v->to_stride] += fma(slope, x[i * v->stride] - mean, level);
}

/* ---- The table ---- */

static const struct kind kinds[] = {
    [FAD_PART_SUM] = {1, 1, zero, sum_leaf, sum_join, one_result, one_adjoint, sum_join_back, sum_leaf_back},
    [FAD_PART_WEIGHTED_SUM] = {1, 1, zero, weighted_leaf, sum_join, one_result, one_adjoint, sum_join_back,
                               weighted_leaf_back},
    [FAD_PART_PRODUCT] = {1, 1, one, product_leaf, product_join, one_result, one_adjoint, product_join_back,
                          product_leaf_back},
    [FAD_PART_MAX] = {1, 1, lowest, max_leaf, max_join, one_result, one_adjoint, max_join_back, extreme_leaf_back},
    [FAD_PART_MIN] = {1, 1, highest, min_leaf, min_join, one_result, one_adjoint, min_join_back, extreme_leaf_back},
    [FAD_PART_ARGMAX] = {2, 1, no_lowest, argmax_leaf, argmax_join, arg_finish, arg_finish_back, arg_join_back,
                         arg_leaf_back},
    [FAD_PART_ARGMIN] = {2, 1, no_highest, argmin_leaf, argmin_join, arg_finish, arg_finish_back, arg_join_back,
                         arg_leaf_back},
    [FAD_PART_LOGSUMEXP] = {2, 1, no_terms, soft_leaf, soft_join, soft_finish, one_adjoint, soft_join_back, soft_leaf_back},
    [FAD_PART_MEAN_VARIANCE] = {3, 2, no_moments, moments_leaf, moments_join, moments_finish, moments_finish_back,
                                moments_join_back, moments_leaf_back},
};

size_t fadi_part_width(const struct fad_part *p)
{
    return p->kind == FAD_PART_GENERAL ? p->width : kinds[p->kind].width;
}

size_t fadi_part_results(const struct fad_part *p)
{
    return p->kind == FAD_PART_GENERAL ? p->width : kinds[p->kind].results;
}

size_t fadi_part_columns(const struct fad_part *p)
{
    size_t width = p->kind == FAD_PART_GENERAL ? p->width : 1, end;
    if (__builtin_add_overflow(p->column, width, &end) || p->weight == SIZE_MAX)
        return SIZE_MAX;
    return p->kind == FAD_PART_WEIGHTED_SUM && p->weight >= end ? p->weight + 1 : end;
}

void fadi_part_identity(const struct fad_part *p, double *state)
{
    if (p->kind != FAD_PART_GENERAL)
        kinds[p->kind].identity(state);
    else
        for (size_t j = 0; j < p->width; j++)
            state[j] = p->identity ? p->identity[j] : 0.0;
}

void fadi_part_leaf(const struct fad_part *p, const struct fadi_run *v, double *state)
{
    kinds[p->kind].leaf(p, v, state);
}

void fadi_part_join(const struct fad_part *p, const double *left, const double *right, double *state)
{
    kinds[p->kind].join(left, right, state);
}

void fadi_part_finish(const struct fad_part *p, const double *state, double *z)
{
    if (p->kind != FAD_PART_GENERAL)
        kinds[p->kind].finish(p, state, z);
    else
        for (size_t j = 0; j < p->width; j++)
            z[j] = state[j];
}

void fadi_part_finish_back(const struct fad_part *p, const double *state, const double *seed, double *adjoint)
{
    if (p->kind != FAD_PART_GENERAL)
        kinds[p->kind].finish_back(p, state, seed, adjoint);
    else
        for (size_t j = 0; j < p->width; j++)
            adjoint[j] = seed[j];
}

void fadi_part_join_back(const struct fad_part *p, const double *left, const double *right, const double *adjoint,
                         double *left_adjoint, double *right_adjoint)
{
    kinds[p->kind].join_back(left, right, adjoint, left_adjoint, right_adjoint);
}

void fadi_part_leaf_back(const struct fad_part *p, const struct fadi_run *v, const double *state, const double *adjoint,
                         double *to, double *work)
{
    kinds[p->kind].leaf_back(p, v, state, adjoint, to, work);
}
