/* A program of a user who has only the installed library: compiled as C11 and as C++17 by scripts/check-install.
 * Its argument is the version that the .pc file tells. */
#include <foldad/foldad.h>
#include <stdio.h>
#include <string.h>

static int squared_distance(fad_tape *t, size_t k, const fad_real *center, const fad_real *x, fad_real *y, void *user)
{
    (void)k;
    (void)user;
    *y = fad_square(t, fad_sub(t, x[0], center[0]));
    return 0;
}

static int set_one(fad_worker *w, void *arg)
{
    (void)w;
    *(int *)arg = 1;
    return 0;
}

/* Inline functions of the headers, which without optimisation are calls into the library. */
static int fork_one(fad_worker *w, void *arg)
{
    fad_task task;
    fad_fork(w, &task, set_one, arg);
    return fad_join(w, &task);
}

static int same_version(const char *version)
{
    char header[32];
    snprintf(header, sizeof header, "%d.%d.%d", FAD_VERSION_MAJOR, FAD_VERSION_MINOR, FAD_VERSION_PATCH);
    return !version || !strcmp(header, version);
}

/* sum of (x - 2)^2 over 1, 2, 3, 4, and its derivative with respect to the 2: small integers, so exact */
static int sum_is_right(fad_pool *pool)
{
    const double x[] = {1, 2, 3, 4}, center = 2;
    double value = 0, gradient = 0;
    struct fad_sum s;
    memset(&s, 0, sizeof s);
    s.terms = 4;
    s.shared_count = 1;
    s.shared = &center;
    s.x = x;
    s.x_count = 1;
    s.term = squared_distance;
    return fad_sum_gradient(pool, &s, &value, &gradient, NULL) == FAD_OK && value == 6 && gradient == -4;
}

int main(int argc, char **argv)
{
    fad_pool *pool = NULL;
    int forked = 0;
    int status = fad_pool_create(&pool, NULL);
    if (status != FAD_OK) {
        fprintf(stderr, "fad_pool_create: %s\n", fad_strerror(status));
        return 1;
    }
    int good = same_version(argc > 1 ? argv[1] : NULL) && sum_is_right(pool) && sum_is_right(NULL) &&
               fad_pool_run(pool, fork_one, &forked) == FAD_OK && forked;
    if (fad_pool_destroy(pool) != FAD_OK || !good) {
        fputs("wrong version, value, gradient or join\n", stderr);
        return 1;
    }
    return 0;
}
