/* Folds over other monoids than +: built-in ones against loops by hand, and one that is recorded; with its memory. */
#include "benches.h"
#include "hand.h"
#include "harness.h"
#include "user.h"

#include <stdlib.h>

struct kind {
    const char *name, *about;
    bench_call *hand, *user, *again;
    size_t wide; /* numbers of an element */
    double low, high, tolerance;
};

static void reduce_group(struct bench *b, const struct kind *k, size_t n)
{
    double *x = bench_alloc(k->wide * n * sizeof *x);
    struct reduce_problem problem = {n, x};
    unsigned many = b->options.workers;
    struct target faster = {many == 2 && n >= 1000000 ? 1 / 1.8 : 0, 0};
    const struct contender list[] = {
        {"hand_gradient", k->hand, 1},
        {"foldad", k->user, 1, "hand_gradient"},
        {"foldad", k->user, many, "foldad", .target = faster},
        {"foldad_recompute", k->again, 1, "hand_gradient"},
        {"foldad_recompute", k->again, many, "foldad_recompute", .target = faster},
    };
    for (size_t i = 0; i < k->wide * n; i++)
        x[i] = k->low + (k->high - k->low) * 0.5 * (1 + bench_uniform(i));
    bench_group(b, &(struct group){.name = k->name, .n = n, .unit = "element", .units = (double)n, .problem = &problem,
        .about = k->about, .outputs = 1 + k->wide * n, .tolerance = k->tolerance, .list = list, .count = BENCH_COUNT(list)});
    free(x);
}

static void sizes(struct bench *b, const struct kind *k)
{
    reduce_group(b, k, b->options.quick ? 20000 : 1000000);
    reduce_group(b, k, 10000);
}

void bench_reduce_product(struct bench *b)
{
    sizes(b, &(struct kind){"reduce_product", "product of n factors and its gradient; hand: product / factor", product_gradient,
                            user_product, NULL, 1, 0.998, 1.002, 1e-9});
}

void bench_reduce_max(struct bench *b)
{
    sizes(b, &(struct kind){"reduce_max", "maximum of n and its gradient", max_gradient, user_max, NULL, 1, -1, 1, 0});
}

void bench_reduce_logsumexp(struct bench *b)
{
    sizes(b, &(struct kind){"reduce_logsumexp", "log of the sum of n exponentials and its gradient; hand: libm's exp, kept",
                            logsumexp_gradient, user_logsumexp, NULL, 1, -10, 10, 1e-11});
}

void bench_reduce_variance(struct bench *b)
{
    sizes(b, &(struct kind){"reduce_variance", "variance of n and its gradient, in two passes", variance_gradient, user_variance,
                            NULL, 1, 3, 4, 1e-9});
}

void bench_reduce_all(struct bench *b)
{
    sizes(b, &(struct kind){"reduce_all", "the four together: several folds in one pass, gradient of their sum",
                            all_folds_gradient, user_all_folds, NULL, 1, 0.998, 1.002, 1e-9});
}

void bench_reduce_general(struct bench *b)
{
    sizes(b, &(struct kind){"reduce_general", "n maps x -> a x + b composed, every combine recorded; hand: prefixes and suffixes",
                            compose_gradient, user_compose, user_compose_again, 2, -0.9, 0.9, 1e-11});
}
