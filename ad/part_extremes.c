/** @file part_extremes.c  Maxima and minima, and where they are; the logarithm of a sum of exponentials, which begins with the largest. */
#include "ad/part_kind.h"

#include "ad/math.h"

/* Exponentials are taken so many at a time; whole rounds of lanes. */
#define BLOCK 256u

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
    return fadi_add_lanes(s);
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

/* ---- The kinds ---- */

const struct fadi_part_kind fadi_part_max = {1, 1, lowest, max_leaf, max_join, fadi_one_result, fadi_one_adjoint,
    max_join_back, extreme_leaf_back};
const struct fadi_part_kind fadi_part_min = {1, 1, highest, min_leaf, min_join, fadi_one_result, fadi_one_adjoint,
    min_join_back, extreme_leaf_back};
const struct fadi_part_kind fadi_part_argmax = {2, 1, no_lowest, argmax_leaf, argmax_join, arg_finish,
    arg_finish_back, arg_join_back, arg_leaf_back};
const struct fadi_part_kind fadi_part_argmin = {2, 1, no_highest, argmin_leaf, argmin_join, arg_finish,
    arg_finish_back, arg_join_back, arg_leaf_back};
const struct fadi_part_kind fadi_part_logsumexp = {2, 1, no_terms, soft_leaf, soft_join, soft_finish,
    fadi_one_adjoint, soft_join_back, soft_leaf_back};
