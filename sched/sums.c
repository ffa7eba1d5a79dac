/* Sums of arrays, plain and compensated: 16 virtual lanes in a leaf, one tree of the lanes, then the tree of fad_fold. */
#include <foldad/fold.h>

#include <math.h>

#define LANES 16

/* The lane loops are compiled twice, for the baseline and for AVX2; only the width of a step differs, not one bit. */
#if defined(__x86_64__)
#define WIDE __attribute__((target("avx2")))
#define HAVE_WIDE() __builtin_cpu_supports("avx2")
#else
#define WIDE
#define HAVE_WIDE() 0
#endif

static inline __attribute__((always_inline)) double plain_lanes(const double *x, size_t n)
{
    double s[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            s[l] += x[i + l];
    for (int l = 0; i < n; i++, l++)
        s[l] += x[i];
    for (int half = LANES / 2; half; half /= 2)
        for (int l = 0; l < half; l++)
            s[l] += s[l + half];
    return s[0];
}

static double plain_baseline(const double *x, size_t n)
{
    return plain_lanes(x, n);
}

WIDE static double plain_wide(const double *x, size_t n)
{
    return plain_lanes(x, n);
}

/* s + c is the sum: s as a plain sum would have it, c what its roundings lost. */
struct pair {
    double s, c;
};

/* Knuth's two-sum: the error of s + x is exact, and there is no branch. */
static inline __attribute__((always_inline)) void add_to(double *s, double *c, double x)
{
    double t = *s + x, part = t - *s;
    *c += (*s - (t - part)) + (x - part);
    *s = t;
}

static inline __attribute__((always_inline)) struct pair kbn_lanes(const double *x, size_t n)
{
    double s[LANES] = {0}, c[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int l = 0; l < LANES; l++)
            add_to(&s[l], &c[l], x[i + l]);
    for (int l = 0; i < n; i++, l++)
        add_to(&s[l], &c[l], x[i]);
    for (int half = LANES / 2; half; half /= 2)
        for (int l = 0; l < half; l++) {
            c[l] += c[l + half];
            add_to(&s[l], &c[l], s[l + half]);
        }
    return (struct pair){s[0], c[0]};
}

static struct pair kbn_baseline(const double *x, size_t n)
{
    return kbn_lanes(x, n);
}

WIDE static struct pair kbn_wide(const double *x, size_t n)
{
    return kbn_lanes(x, n);
}

struct sum {
    const double *x;
    double (*plain)(const double *x, size_t n);
    struct pair (*kbn)(const double *x, size_t n);
};

static void plain_identity(void *acc, void *user)
{
    (void)user;
    *(double *)acc = 0;
}

static void plain_combine(void *left, const void *right, void *user)
{
    (void)user;
    *(double *)left += *(const double *)right;
}

static int plain_leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    const struct sum *s = user;
    (void)failed;
    *(double *)acc = s->plain(s->x + begin, end - begin);
    return 0;
}

static void kbn_identity(void *acc, void *user)
{
    (void)user;
    *(struct pair *)acc = (struct pair){0, 0};
}

static void kbn_combine(void *left, const void *right, void *user)
{
    struct pair *l = left;
    const struct pair *r = right;
    (void)user;
    l->c += r->c;
    add_to(&l->s, &l->c, r->s);
}

static int kbn_leaf(size_t begin, size_t end, void *acc, void *user, size_t *failed)
{
    const struct sum *s = user;
    (void)failed;
    *(struct pair *)acc = s->kbn(s->x + begin, end - begin);
    return 0;
}

static int fold_array(fad_pool *pool, const double *x, size_t n, const struct fad_monoid *m, fad_leaf *leaf, void *result)
{
    struct fad_fold_options options = {.leaf = FAD_SUM_LEAF};
    struct sum s = {x, plain_baseline, kbn_baseline};
    if (HAVE_WIDE()) {
        s.plain = plain_wide;
        s.kbn = kbn_wide;
    }
    return fad_fold(pool, n, m, leaf, &s, &options, result);
}

int fad_sum_array(fad_pool *pool, const double *x, size_t n, double *sum)
{
    static const struct fad_monoid monoid = {sizeof(double), 0, plain_identity, plain_combine};
    if (!sum || (!x && n))
        return FAD_EINVAL;
    if (n > SIZE_MAX / sizeof *x)
        return FAD_EOVERFLOW;
    return fold_array(pool, x, n, &monoid, plain_leaf, sum);
}

int fad_sum_array_kbn(fad_pool *pool, const double *x, size_t n, double *sum)
{
    static const struct fad_monoid monoid = {sizeof(struct pair), 0, kbn_identity, kbn_combine};
    struct pair total;
    int rc;
    if (!sum || (!x && n))
        return FAD_EINVAL;
    if (n > SIZE_MAX / sizeof *x)
        return FAD_EOVERFLOW;
    rc = fold_array(pool, x, n, &monoid, kbn_leaf, &total);
    if (rc == FAD_OK) /* s not finite: so is a plain sum; c not finite: something in between was, and is made up for in s */
        *sum = isfinite(total.s) && isfinite(total.c) ? total.s + total.c : total.s;
    return rc;
}
