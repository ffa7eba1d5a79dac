/* Runs the harnesses under relacy: -n SCHEDULES of each harness in each way.
 * With mutations (see scripts/check-mutations): -w NAME=ORDER or -x NAME, which stops at the first failure. */
#include "stress/model/relacy.h"

#include <stdio.h>
#include <string.h>

template <unsigned Threads> struct suite : rl::test_suite<suite<Threads>, Threads> {
    struct model state;
    struct model_rcu rcu;

    void before()
    {
        m = &state;
        model_rcu = &rcu;
        rcu.readers = 0;
        rcu.begun.store(0, rl::mo_relaxed, $);
        rcu.left.store(0, rl::mo_relaxed, $);
        harness->before();
    }

    void thread(unsigned i)
    {
        harness->thread(i);
    }

    void after()
    {
        model_fini();
    }
};

static const char *const way_name[MODEL_WAYS] = {"native", "fence after", "fence before"};

template <unsigned Threads> static bool run(rl::test_params &p)
{
    std::ostringstream state;
    return rl::run_test<suite<Threads>, rl::random_scheduler<Threads> >(p, state, false) == rl::test_result_success;
}

/* The same again, with the history of the failing schedule. */
template <unsigned Threads> static void explain(rl::test_params &p)
{
    p.output_stream = &std::cerr; /* not a string: relacy's memory would get into it */
    rl::simulate<suite<Threads> >(p);
}

static bool check(const struct harness *h, enum model_way way, unsigned schedules, bool mutated)
{
    rl::test_params p;
    std::ostringstream progress;
    p.iteration_count = schedules;
    p.execution_depth_limit = 5000;
    p.progress_stream = &progress;
    harness = h;
    model_way = way;
    printf("%s, %s: ", h->name, way_name[way]);
    fflush(stdout);
    bool ok = h->threads == 2 ? run<2>(p) : run<3>(p);
    printf("%s %u\n", ok ? "passed" : rl::test_result_str(p.test_result), (unsigned)p.stop_iteration);
    fflush(stdout);
    if (!ok && !mutated)
        h->threads == 2 ? explain<2>(p) : explain<3>(p);
    return ok;
}

#ifdef MODEL_MUTABLE
/* NAME=ORDER */
static bool model_weaken(const char *what)
{
    static const struct { const char *name; rl::memory_order order; } orders[] = {
        {"relaxed", rl::mo_relaxed}, {"acquire", rl::mo_acquire}, {"release", rl::mo_release}, {"acq_rel", rl::mo_acq_rel}};
    size_t length = strcspn(what, "=");
    for (auto &known : model_orders)
        for (auto &weaker : orders)
            if (strlen(known.name) == length && !strncmp(known.name, what, length) && what[length] &&
                !strcmp(weaker.name, what + length + 1)) {
                *known.order = weaker.order;
                return true;
            }
    return false;
}

static bool model_mutate(const char *name)
{
    for (model_mutant = 1; model_mutant <= (int)(sizeof model_mutants / sizeof model_mutants[0]); model_mutant++)
        if (!strcmp(model_mutants[model_mutant - 1], name))
            return true;
    return false;
}
#endif

int main(int argc, char **argv)
{
    unsigned schedules = 1000;
    bool mutated = false, ok = true;
    const char *only = "";
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "-n"))
            schedules = (unsigned)strtoul(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "-h"))
            only = argv[i + 1];
#ifdef MODEL_MUTABLE
        else if (!strcmp(argv[i], "-w") && model_weaken(argv[i + 1]))
            mutated = true;
        else if (!strcmp(argv[i], "-x") && model_mutate(argv[i + 1]))
            mutated = true;
#endif
        else
            return 2;
    }
    for (unsigned k = 0; k < HARNESSES; k++)
        for (int way = 0; way < MODEL_WAYS && (ok || !mutated); way++)
            if (strstr(harnesses[k].name, only))
                ok = check(&harnesses[k], (enum model_way)way, schedules, mutated) && ok;
    return !ok;
}
