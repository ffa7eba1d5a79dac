/* gmm: the objective of a Gaussian mixture and its gradient, on problems of the ADBench benchmark.
 *
 * It shows: a sum over points with many shared parameters (fad_sum_gradient), a term with loops and
 * working memory (fad_alloc), and a tape of one's own for what is not a sum over points. Where FILE.ref lies beside
 * FILE.txt, value and gradient are checked against it.
 *
 *     cc -O2 gmm.c gmm_file.c text.c common.c -o gmm $(pkg-config --cflags --libs libfoldad) -lm
 *     ./gmm data/gmm-test.txt
 *
 * The objective, for points x_n, logits alpha, means mu and lower triangular factors Q_k with diagonal exp(q_k) and
 * strictly lower part L_k:
 *
 *     - N D/2 log(2 pi) + sum_n logsumexp_k(alpha_k + sum(q_k) - |Q_k (x_n - mu_k)|^2 / 2) - N logsumexp(alpha)
 *     + sum_k [gamma^2/2 (|exp(q_k)|^2 + |L_k|^2) - m sum(q_k)] - K C
 *
 * with C = n' D (log gamma - log(2)/2) - log Gamma_D(n'/2), n' = D + m + 1 (a Wishart prior). */
#define _POSIX_C_SOURCE 200809L
#include "common.h"
#include "gmm_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct program program = {
    "gmm",
    "usage: gmm [-w WORKERS] FILE\n"
    "Objective and gradient of a Gaussian mixture in the format of ADBench. FILE.ref beside FILE.txt (a value, then\n"
    "the gradient, one number a line) is what the results are checked against.\n"
    "  -w WORKERS  threads that compute, the calling one included; default: FAD_WORKERS, or what the process may use\n"
    "  -h          this text\n"
    "exit code: 0; 1 results that do not agree with the reference, or a failure; 2 a wrong option or a damaged file\n"};

/* The benchmark's own constant, which its published values contain: with the exact one, results would differ from them in
 * about the 14th digit. */
static const double benchmark_pi = 3.14159265359;

/* What is allowed between results and reference: of the value relative, of a component c relative to max(1, |c|). */
static const double value_allowed = 1e-13, component_allowed = 1e-11;

struct result {
    double value;
    double *gradient;  /* parameters values, as in the file */
    double *reference; /* NULL, or the value and then the gradient */
};

/* Where L[j][i], i < j, stands in the strictly lower part, which the file has by columns. */
static size_t below(size_t d, size_t j, size_t i)
{
    return i * d - i * (i + 1) / 2 + (j - i - 1);
}

/* |Q (x - mu)|^2. work: 2 d values */
static fad_real distance(fad_tape *t, size_t d, const fad_real *x, const fad_real *mu, const fad_real *q,
                         fad_real *work)
{
    const fad_real *lower = q + d;
    fad_real *centred = work, *line = work + d, sum = fad_const(0);
    for (size_t i = 0; i < d; i++)
        centred[i] = fad_sub(t, x[i], mu[i]);
    for (size_t j = 0; j < d; j++) {
        /* copying a fad_real records nothing; together in memory they make one dot product */
        for (size_t i = 0; i < j; i++)
            line[i] = lower[below(d, j, i)];
        fad_real diagonal = fad_mul(t, fad_exp(t, q[j]), centred[j]);
        sum = fad_add(t, sum, fad_square(t, fad_add(t, diagonal, fad_dot(t, j, line, centred))));
    }
    return sum;
}

/* The term of one point: logsumexp over the components. */
static int point(fad_tape *t, size_t k, const fad_real *parameter, const fad_real *x, fad_real *y, void *user)
{
    const struct gmm_problem *problem = user;
    size_t d = problem->dimension, components = problem->components;
    const fad_real *alpha = parameter, *mu = alpha + components, *factor = mu + components * d;
    fad_real *s = fad_alloc(t, components + 2 * d), *work = s + components;
    (void)k;
    if (s == NULL)
        return fad_tape_error(t);
    for (size_t c = 0; c < components; c++, mu += d, factor += problem->factor) {
        fad_real weight = fad_add(t, alpha[c], fad_sum_of(t, d, factor));
        s[c] = fad_sub(t, weight, fad_mul(t, 0.5, distance(t, d, x, mu, factor, work)));
    }
    *y = fad_logsumexp(t, components, s);
    return 0;
}

/* log Gamma_D(a). On constants the operations record nothing; they have the same bits on every machine, which log and
 * lgamma of the C library do not promise. */
static fad_real log_gamma_of(fad_tape *t, size_t d, double a)
{
    fad_real sum = fad_mul(t, 0.25 * (double)(d * (d - 1)), fad_log(t, fad_const(benchmark_pi)));
    for (size_t j = 1; j <= d; j++)
        sum = fad_add(t, sum, fad_lgamma(t, fad_const(a + 0.5 * (1 - (double)j))));
    return sum;
}

/* What depends on the sizes alone. */
static fad_real constants(fad_tape *t, const struct gmm_problem *p)
{
    double d = (double)p->dimension, freedom = d + (double)p->m + 1;
    fad_real half_log_2 = fad_mul(t, 0.5, fad_log(t, fad_const(2)));
    fad_real scale = fad_mul(t, freedom * d, fad_sub(t, fad_log(t, fad_const(p->gamma)), half_log_2));
    fad_real c = fad_sub(t, scale, log_gamma_of(t, p->dimension, 0.5 * freedom));
    fad_real gauss = fad_mul(t, -0.5 * d * (double)p->points, fad_log(t, fad_const(2 * benchmark_pi)));
    return fad_sub(t, gauss, fad_mul(t, (double)p->components, c));
}

/* gamma^2/2 (|exp(q)|^2 + |L|^2) - m sum(q) of one component */
static fad_real prior(fad_tape *t, const struct gmm_problem *p, const fad_real *factor)
{
    size_t d = p->dimension, lower = p->factor - d;
    fad_real squares = fad_dot(t, lower, factor + d, factor + d);
    for (size_t i = 0; i < d; i++)
        squares = fad_add(t, squares, fad_square(t, fad_exp(t, factor[i])));
    fad_real spread = fad_mul(t, 0.5 * p->gamma * p->gamma, squares);
    return fad_sub(t, spread, fad_mul(t, (double)p->m, fad_sum_of(t, d, factor)));
}

/* Everything but the sum over points, on a tape of our own: in holds room for the parameters. */
static int rest(fad_tape *t, const struct gmm_problem *p, fad_real *in, double *value, double *gradient)
{
    for (size_t i = 0; i < p->parameters; i++)
        in[i] = fad_input(t, p->parameter[i]);
    const fad_real *factor = in + p->components * (1 + p->dimension);
    fad_real y = fad_sub(t, constants(t, p), fad_mul(t, (double)p->points, fad_logsumexp(t, p->components, in)));
    for (size_t c = 0; c < p->components; c++)
        y = fad_add(t, y, prior(t, p, factor + c * p->factor));
    *value = fad_value(t, y);
    return fad_tape_reverse(t, y, 1, p->parameters, in, gradient);
}

static int compute(fad_pool *pool, const struct gmm_problem *p, fad_tape *t, fad_real *in, double *rest_gradient,
                   struct result *result)
{
    struct fad_failure failure;
    struct fad_sum sum = {.terms = p->points, .shared_count = p->parameters, .shared = p->parameter, .x = p->point,
                          .x_count = p->dimension, .term = point, .user = (void *)p, .uniform = true,
                          .failure = &failure};
    double rest_value;
    int status = fad_sum_gradient(pool, &sum, &result->value, result->gradient, NULL);
    if (status != FAD_OK)
        return failed(&program, "the sum over points", status, &failure);
    status = rest(t, p, in, &rest_value, rest_gradient);
    if (status != FAD_OK)
        return failed(&program, "the prior", status, NULL);
    result->value += rest_value;
    for (size_t i = 0; i < p->parameters; i++)
        result->gradient[i] += rest_gradient[i];
    return 0;
}

static double deviation(double got, double expected)
{
    return fabs(got - expected) / fmax(1, fabs(expected));
}

/* A part of the gradient: its size, and its largest deviation. False: more than is allowed. */
static bool report_part(const char *name, const struct result *r, size_t first, size_t count)
{
    double largest = 0, worst = 0;
    bool good = true;
    for (size_t i = first; i < first + count; i++) {
        largest = fmax(largest, fabs(r->gradient[i]));
        if (r->reference == NULL)
            continue;
        double d = deviation(r->gradient[i], r->reference[1 + i]);
        good = good && d <= component_allowed; /* false for NaN, which fmax leaves out */
        worst = fmax(worst, d);
    }
    printf("  %-20s%10zu%24.12e", name, count, largest);
    if (r->reference != NULL)
        printf("%20.2e%s", worst, good ? "" : "  too much");
    putchar('\n');
    return good;
}

static int report(const struct gmm_problem *p, const struct result *r, const char *reference_path)
{
    size_t k = p->components, d = p->dimension;
    bool good = true;
    printf("%zu points in %zu dimensions, %zu components, %zu parameters\n\n", p->points, d, k, p->parameters);
    printf("  %-20s%34.16e\n", "objective", r->value);
    if (r->reference != NULL) {
        double relative = fabs(r->value - r->reference[0]) / fabs(r->reference[0]);
        good = relative <= value_allowed;
        printf("  %-20s%34.16e\n", "reference", r->reference[0]);
        printf("  %-20s%20.2e%s\n", "relative deviation", relative, good ? "" : "  too much");
    }
    printf("\n  %-20s%10s%24s%20s\n", "gradient", "count", "largest component",
           r->reference != NULL ? "deviation" : "");
    good &= report_part("alpha", r, 0, k);
    good &= report_part("means", r, k, k * d);
    good &= report_part("covariance factors", r, k + k * d, k * p->factor);
    if (r->reference != NULL)
        printf("\n%s: %s (allowed: %.0e of the value, %.0e of max(1, |component|))\n\n", reference_path,
               good ? "agrees" : "does not agree", value_allowed, component_allowed);
    else
        printf("\nnot checked: there is no %s\n\n", reference_path);
    uint64_t hash = digest(digest(DIGEST_START, &r->value, 1), r->gradient, p->parameters);
    return finish(&program, hash, good ? EXIT_RIGHT : EXIT_WRONG);
}

/* "DIR/name.txt" -> "DIR/name.ref"; other names get ".ref" behind them. */
static char *reference_path_of(const char *path)
{
    size_t length = strlen(path);
    char *name = malloc(length + sizeof ".ref");
    if (name == NULL)
        return NULL;
    memcpy(name, path, length + 1);
    if (length > 4 && strcmp(name + length - 4, ".txt") == 0)
        length -= 4;
    memcpy(name + length, ".ref", sizeof ".ref");
    return name;
}

/* Leaves r->reference NULL where there is no such file. */
static bool load_reference(const char *path, const struct gmm_problem *p, struct result *r, struct complaint *complaint)
{
    char *data;
    size_t size;
    if (access(path, F_OK) != 0)
        return true;
    if (!text_load(path, &data, &size, complaint))
        return false;
    double *reference = calloc(1 + p->parameters, sizeof *reference);
    bool good = reference != NULL ? gmm_parse_reference(data, size, path, 1 + p->parameters, reference, complaint)
                                  : text_complain(complaint, path, 0, "no memory for %zu numbers", p->parameters);
    free(data);
    if (good)
        r->reference = reference;
    else
        free(reference);
    return good;
}

/* With the problem and its reference read. */
static int solve(size_t workers, const struct gmm_problem *p, struct result *r, const char *reference_path)
{
    fad_pool *pool = NULL;
    fad_tape *t = fad_tape_create();
    fad_real *in = calloc(p->parameters, sizeof *in);
    double *rest_gradient = calloc(p->parameters, sizeof *rest_gradient);
    r->gradient = calloc(p->parameters, sizeof *r->gradient);
    int code = EXIT_WRONG;
    if (t == NULL || in == NULL || rest_gradient == NULL || r->gradient == NULL)
        failed(&program, "making room for the results", FAD_ENOMEM, NULL);
    else if (open_pool(&program, workers, &pool))
        code = compute(pool, p, t, in, rest_gradient, r);
    fad_pool_destroy(pool);
    fad_tape_destroy(t);
    free(in);
    free(rest_gradient);
    return code != 0 ? code : report(p, r, reference_path);
}

static int run(size_t workers, const char *path)
{
    struct gmm_problem problem = {0};
    struct result result = {0};
    struct complaint complaint;
    char *reference_path = reference_path_of(path);
    int code = EXIT_INPUT;
    if (reference_path == NULL)
        code = failed(&program, path, FAD_ENOMEM, NULL);
    else if (gmm_load(path, &problem, &complaint) && load_reference(reference_path, &problem, &result, &complaint))
        code = solve(workers, &problem, &result, reference_path);
    else
        fprintf(stderr, "%s\n", complaint.text);
    gmm_release(&problem);
    free(result.gradient);
    free(result.reference);
    free(reference_path);
    return code;
}

int main(int argc, char **argv)
{
    size_t workers = 0;
    for (int got; (got = getopt(argc, argv, ":w:h")) != -1;) {
        if (got != 'w')
            return option_other(&program, got, optopt);
        if (!option_count(&program, 'w', optarg, 1, FAD_WORKERS_MAX, &workers))
            return EXIT_INPUT;
    }
    if (argc - optind != 1)
        return refuse(&program, argc == optind ? "no data file given" : "more than one data file");
    return run(workers, argv[optind]);
}
