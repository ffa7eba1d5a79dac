/* foldad-bench: what foldad costs, beside what others cost for the same thing. */
#include "benches.h"
#include "harness.h"
#include "report.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    void (*run)(struct bench *b);
} benches[] = {
    /* First, while no other runtime has threads yet. */
    {"idle_cpu", bench_idle_cpu},
    {"grad_logistic_memory", bench_grad_logistic_memory},
    {"spawn_fib", bench_spawn_fib},
    {"spawn_fib_join", bench_spawn_fib_join},
    {"fold_sum", bench_fold_sum},
    {"fold_exp", bench_fold_exp},
    {"fold_small", bench_fold_small},
    {"fold_small_idle", bench_fold_small_idle},
    {"fold_costly", bench_fold_costly},
    {"grad_logistic_taped", bench_grad_logistic_taped},
    {"grad_logistic_taped_dot", bench_grad_logistic_taped_dot},
    {"value_only", bench_value_only},
    {"grad_sparse", bench_grad_sparse},
    {"grad_sparse_touch", bench_grad_sparse_touch},
    {"grad_models", bench_grad_models},
    {"grad_models_blocks", bench_grad_models_blocks},
    {"grad_gmm_taped", bench_grad_gmm_taped},
    {"reduce_product", bench_reduce_product},
    {"reduce_max", bench_reduce_max},
    {"reduce_logsumexp", bench_reduce_logsumexp},
    {"reduce_variance", bench_reduce_variance},
    {"reduce_all", bench_reduce_all},
    {"reduce_general", bench_reduce_general},
    {"grad_logistic", bench_grad_logistic},
    {"grad_rule", bench_grad_rule},
    {"grad_misra", bench_grad_misra},
    {"grad_expcos", bench_grad_expcos},
    {"grad_rational", bench_grad_rational},
    {"grad_rbf", bench_grad_rbf},
    {"grad_gmm_10_25", bench_grad_gmm_10_25},
    {"grad_gmm_20_50", bench_grad_gmm_20_50},
    {"grad_models_uniform", bench_grad_models_uniform},
};

static int usage(FILE *f, int status)
{
    fprintf(f, "usage: foldad-bench [--json] [--only NAME-OR-PATTERN] [--workers N] [--runs N] [--quick] [--list]\n"
               "  --json     one JSON object a contender on standard output, the table on standard error\n"
               "  --only     some of the benchmarks: a name of --list, or a shell pattern in quotes\n"
               "  --workers  of the parallel contenders (2)\n"
               "  --runs     rounds in which every contender takes a turn (15; quick 3)\n"
               "  --quick    small sizes; shows that everything runs and gives right results\n"
               "exit status: 0, 1 if a result was wrong, 2 for usage\n");
    return status;
}

static unsigned number(const char *text, unsigned most)
{
    char *end;
    unsigned long value = text ? strtoul(text, &end, 10) : 0;
    return value >= 1 && value <= most && !*end ? (unsigned)value : 0;
}

static int list_names(void)
{
    for (size_t i = 0; i < BENCH_COUNT(benches); i++)
        printf("%s\n", benches[i].name);
    exit(0);
}

/* False: not understood. */
static bool parse(struct bench_options *o, char **argv)
{
    for (; *argv; argv++) {
        if (!strcmp(*argv, "--json"))
            o->json = true;
        else if (!strcmp(*argv, "--quick"))
            o->quick = true;
        else if (!strcmp(*argv, "--list"))
            list_names();
        else if (!strcmp(*argv, "--only") && argv[1])
            o->only = *++argv;
        else if (!strcmp(*argv, "--workers") && (o->workers = number(argv[1], FAD_WORKERS_MAX / 2)) > 0)
            argv++;
        else if (!strcmp(*argv, "--runs") && (o->rounds = number(argv[1], 100000)) > 0)
            argv++;
        else
            return false;
    }
    if (!o->rounds)
        o->rounds = o->quick ? 3 : 15;
    return true;
}

int main(int argc, char **argv)
{
    struct bench b = {.options = {.workers = 2}};
    size_t ran = 0;
    if (argc == 2 && !strcmp(argv[1], "--help"))
        return usage(stdout, 0);
    if (!parse(&b.options, argv + 1))
        return usage(stderr, 2);
    b.table = b.options.json ? stderr : stdout;
    report_header(&b);
    for (size_t i = 0; i < BENCH_COUNT(benches); i++) {
        if (b.options.only && fnmatch(b.options.only, benches[i].name, 0) != 0)
            continue;
        benches[i].run(&b);
        ran++;
    }
    bench_pools_destroy();
    if (!ran) {
        fprintf(stderr, "foldad-bench: no benchmark is called %s; see --list\n", b.options.only);
        return 2;
    }
    if (b.wrong)
        fprintf(b.table, "\n%u rows with wrong results or errors\n", b.wrong);
    return b.wrong ? 1 : 0;
}
