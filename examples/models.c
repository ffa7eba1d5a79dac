/* models: sum(m -> m(x), models) over models of different kinds, with the gradient with respect to x, which they share,
 * and with respect to every model's own parameters, which stay where they are: in the program's structures.
 *
 * It shows: blocks (struct fad_block) that point into structures, a term that chooses by kind, blocks of different
 * lengths, and that the structures may change between calls: after the first pass every height takes a step down its
 * gradient, and the same blocks are used again. All derivatives are checked against closed forms in long double.
 *
 *     cc -O2 models.c model_check.c model_file.c text.c common.c -o models $(pkg-config --cflags --libs libfoldad) -lm
 *     ./models -n 100000
 *     ./models data/peaks.csv */
#define _POSIX_C_SOURCE 200809L
#include "common.h"
#include "model_check.h"
#include "model_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct program program = {
    "models",
    "usage: models [-w WORKERS] [-x X] [-n MODELS | FILE.csv]\n"
    "The sum of peak models at x and its gradient: with respect to x and to the models' own parameters.\n"
    "  -w WORKERS  threads that compute, the calling one included; default: FAD_WORKERS, or what the process may use\n"
    "  -n MODELS   how many models to generate, always the same ones; default: 10000\n"
    "  -x X        where to evaluate them; default: 0.25\n"
    "  -h, --help  this text\n"
    "FILE.csv: a first line kind,height,centre,width,mixing, then a model a line; kind is gauss, lorentz or\n"
    "voigt (which alone has a mixing).\n"
    "exit code: 0; 1 derivatives that do not agree with the closed forms, or a failure; 2 a wrong option or file\n"};

static const size_t models_default = 10000, models_most = 10000000;
static const double step = 0.125; /* of the heights, down the gradient */

struct options {
    size_t workers, count;
    double x;
    const char *path;
};

/* A pass over all models. */
struct pass {
    double value, dx;
    struct deviation deviation;
};

static fad_real lorentz(fad_tape *t, fad_real z)
{
    return fad_inv(t, fad_add(t, 1, fad_square(t, z)));
}

static fad_real gauss(fad_tape *t, fad_real z, double rate)
{
    return fad_exp(t, fad_mul(t, -rate, fad_square(t, z)));
}

/* One model: x is the shared one, m the model's own block. */
static int model(fad_tape *t, size_t k, const fad_real *x, const fad_real *m, fad_real *y, void *user)
{
    const struct model *models = user;
    fad_real z = fad_div(t, fad_sub(t, x[0], m[MODEL_CENTRE]), m[MODEL_WIDTH]), shape;
    switch (models[k].kind) {
    case MODEL_GAUSS:
        shape = gauss(t, z, 0.5);
        break;
    case MODEL_LORENTZ:
        shape = lorentz(t, z);
        break;
    default: {
        /* g + mixing (l - g); the rate makes width the half width at half height of both */
        fad_real g = gauss(t, z, MODEL_LN_2);
        shape = fad_add(t, g, fad_mul(t, m[MODEL_MIXING], fad_sub(t, lorentz(t, z), g)));
    }
    }
    *y = fad_mul(t, m[MODEL_HEIGHT], shape);
    return 0;
}

static int evaluate(fad_pool *pool, const struct options *o, struct model *models, const struct fad_block *blocks,
                    struct pass *pass)
{
    struct fad_failure failure;
    struct fad_sum sum = {.terms = o->count, .shared_count = 1, .shared = &o->x, .x_blocks = blocks, .term = model,
                          .user = models, .failure = &failure};
    int status = fad_sum_gradient(pool, &sum, &pass->value, &pass->dx, NULL);
    if (status != FAD_OK)
        return failed(&program, "the sum of models", status, &failure);
    pass->deviation = models_check(models, o->count, o->x, pass->value, pass->dx, fad_sum_leaf(&sum));
    return 0;
}

static uint64_t digest_of(uint64_t hash, const struct pass *pass, const struct model *models, size_t count)
{
    hash = digest(digest(hash, &pass->value, 1), &pass->dx, 1);
    for (size_t k = 0; k < count; k++)
        hash = digest(hash, models[k].gradient, model_parameters(models[k].kind));
    return hash;
}

static void row(const char *label, const char *format, double first, double second)
{
    printf("  %-34s", label);
    printf(format, first);
    printf(format, second);
    putchar('\n');
}

static void report(const struct options *o, const struct model *models, const struct pass *first,
                   const struct pass *second)
{
    size_t kinds[MODEL_KINDS] = {0};
    const struct deviation *a = &first->deviation, *b = &second->deviation;
    for (size_t k = 0; k < o->count; k++)
        kinds[models[k].kind]++;
    printf("%zu models (%zu gauss, %zu lorentz, %zu voigt) at x = %.17g\n\n", o->count, kinds[MODEL_GAUSS],
           kinds[MODEL_LORENTZ], kinds[MODEL_VOIGT], o->x);
    printf("  %-34s%24s%24s\n", "", "first pass", "after a step");
    row("sum", "%24.16e", first->value, second->value);
    row("d/dx", "%24.16e", first->dx, second->dx);
    printf("\n  %-34s\n", "relative deviation from closed forms");
    row("  sum", "%24.2e", a->value, b->value);
    row("  d/dx", "%24.2e", a->dx, b->dx);
    row("  models' parameters, largest", "%24.2e", a->parameter, b->parameter);
    row("  allowed", "%24.2e", a->allowed, b->allowed);
}

/* Two passes over the same description, with a step of the heights between them. */
static int compute(fad_pool *pool, const struct options *o, struct model *models, const struct fad_block *blocks)
{
    struct pass first, second;
    uint64_t hash = DIGEST_START;
    int code = evaluate(pool, o, models, blocks, &first);
    if (code != 0)
        return code;
    hash = digest_of(hash, &first, models, o->count);
    for (size_t k = 0; k < o->count; k++)
        models[k].parameter[MODEL_HEIGHT] -= step * models[k].gradient[MODEL_HEIGHT];
    code = evaluate(pool, o, models, blocks, &second);
    if (code != 0)
        return code;
    hash = digest_of(hash, &second, models, o->count);
    bool good = deviation_allowed(&first.deviation) && deviation_allowed(&second.deviation);
    report(o, models, &first, &second);
    printf("\n%s\n\n", good ? "the derivatives agree" : "the derivatives do not agree");
    return finish(&program, hash, good ? EXIT_RIGHT : EXIT_WRONG);
}

static int run(const struct options *o, struct model *models)
{
    fad_pool *pool = NULL;
    struct fad_block *blocks = calloc(o->count, sizeof *blocks);
    if (blocks == NULL)
        return failed(&program, "the list of blocks", FAD_ENOMEM, NULL);
    for (size_t k = 0; k < o->count; k++)
        blocks[k] = (struct fad_block){models[k].parameter, model_parameters(models[k].kind), models[k].gradient};
    int code = open_pool(&program, o->workers, &pool) ? compute(pool, o, models, blocks) : EXIT_WRONG;
    fad_pool_destroy(pool);
    free(blocks);
    return code;
}

static bool read_options(int argc, char **argv, struct options *o, int *code)
{
    *code = EXIT_INPUT;
    for (int got; (got = option_next(argc, argv, ":w:n:x:h")) != -1;) {
        bool good = true;
        if (got == 'w')
            good = option_count(&program, 'w', optarg, 1, FAD_WORKERS_MAX, &o->workers);
        else if (got == 'n')
            good = option_count(&program, 'n', optarg, 1, models_most, &o->count);
        else if (got == 'x')
            good = option_number(&program, 'x', optarg, &o->x);
        else {
            *code = option_other(&program, got, argv);
            good = false;
        }
        if (!good)
            return false;
    }
    if (argc - optind > 1 || (argc > optind && o->count != 0)) {
        refuse(&program, argc - optind > 1 ? "more than one file" : "-n and a file exclude each other");
        return false;
    }
    o->path = argv[optind];
    return true;
}

int main(int argc, char **argv)
{
    struct options o = {.x = 0.25};
    struct model *models = NULL;
    struct complaint complaint;
    int code;
    if (!read_options(argc, argv, &o, &code))
        return code;
    if (o.path != NULL) {
        if (!models_load(o.path, &models, &o.count, &complaint)) {
            fprintf(stderr, "%s\n", complaint.text);
            return EXIT_INPUT;
        }
    } else {
        o.count = o.count != 0 ? o.count : models_default;
        models = models_generate(o.count);
        if (models == NULL)
            return failed(&program, "the models", FAD_ENOMEM, NULL);
    }
    code = run(&o, models);
    free(models);
    return code;
}
