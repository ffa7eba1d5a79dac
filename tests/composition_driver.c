/* A sum on an outer tape that users wrote, which scripts/check-api compiles as it is, beside this file, as C11 and as C++17:
 * value and gradient against long double formulas.
 *
 * Not a test by itself: the objective is in a file outside of this tree. */
#include <foldad/foldad.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

int objective(fad_pool *pool, size_t n, const double *X, double *w, size_t P, const double *theta, double *value,
              double *gradient);

enum { N = 1000, P = 5 };

/* sum of w_k (x_k . g - 1)^2 + theta_{P-1}^2, g_i = e^(theta_i / 2) */
static void by_formula(const double *x, const double *w, const double *theta, long double *value, long double *gradient,
                       long double *size)
{
    long double g[3], last = theta[P - 1];
    *value = last * last;
    memset(gradient, 0, P * sizeof *gradient);
    gradient[P - 1] = 2 * last;
    *size = 1 + last * last;
    for (int i = 0; i < 3; i++)
        g[i] = expl((long double)theta[i] / 2);
    for (size_t k = 0; k < N; k++) {
        long double r = -1, bound = 1;
        for (int i = 0; i < 3; i++) {
            r += x[3 * k + i] * g[i];
            bound += fabsl(x[3 * k + i]) * g[i];
        }
        *value += w[k] * r * r;
        for (int i = 0; i < 3; i++)
            gradient[i] += w[k] * r * x[3 * k + i] * g[i];
        *size += fabsl(w[k]) * bound * bound;
    }
}

/* Every operation is rounded, about 20 of them in a row besides the N that are summed: all intermediate results are below
 * `size`, which is what the absolute values of all parts add up to. */
static int near(double a, long double b, long double size)
{
    return fabsl(a - b) <= (N + 20) * 0x1p-53L * size;
}

static int check(fad_pool *pool, const char *name, const double *x, double *w, const double *theta, double *out)
{
    long double value, gradient[P], size;
    by_formula(x, w, theta, &value, gradient, &size);
    int rc = objective(pool, N, x, w, P, theta, out, out + 1);
    int good = rc == 0 && near(out[0], value, size);
    for (size_t j = 0; j < P && good; j++)
        good = near(out[1 + j], gradient[j], size);
    if (!good)
        printf("objective, %s: status %d, value %.17g\n", name, rc, out[0]);
    return good;
}

int main(void)
{
    static double x[3 * N], w[N];
    double theta[P] = {0.3, -0.4, 0.8, 5, -1.5}, serial[1 + P], parallel[1 + P];
    struct fad_pool_options options;
    fad_pool *pool = NULL;
    memset(&options, 0, sizeof options);
    options.workers = 4;
    for (size_t i = 0; i < 3 * N; i++)
        x[i] = (double)(i * 37 % 101) / 50 - 1;
    for (size_t k = 0; k < N; k++)
        w[k] = 0.5 + (double)(k % 7);
    if (fad_pool_create(&pool, &options))
        return 1;
    int good = check(NULL, "serial", x, w, theta, serial) && check(pool, "4 workers", x, w, theta, parallel);
    if (good && memcmp(serial, parallel, sizeof serial) != 0) {
        printf("objective: other bits with other workers\n");
        good = 0;
    }
    return fad_pool_destroy(pool) != 0 || !good;
}
