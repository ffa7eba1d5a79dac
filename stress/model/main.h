/** @file main.h  Options and runs of the model programs: -n SCHEDULES, -w ORDER to weaken (take-top, publish, done). */
#ifndef FADI_MODEL_MAIN_H
#define FADI_MODEL_MAIN_H

#include <stdio.h>
#include <string.h>

struct model_options {
    unsigned schedules; /* of each harness */
};

static int model_failed;

static void model_weaken(const char *name)
{
    if (!strcmp(name, "take-top"))
        model_take_top = rl::mo_acquire;
    else if (!strcmp(name, "publish"))
        model_publish = rl::mo_relaxed;
    else if (!strcmp(name, "done"))
        model_done = rl::mo_relaxed;
    else
        exit(2);
}

static struct model_options model_options_read(int argc, char **argv)
{
    struct model_options o = {20000};
    for (int i = 1; i + 1 < argc; i += 2)
        if (!strcmp(argv[i], "-n"))
            o.schedules = (unsigned)strtoul(argv[i + 1], NULL, 10);
        else if (!strcmp(argv[i], "-w"))
            model_weaken(argv[i + 1]);
    return o;
}

/** Runs one harness; the first failing schedule is printed by relacy. */
template <typename Test> static void model_run(struct model_options o, const char *what)
{
    rl::test_params p;
    std::ostringstream quiet;
    p.iteration_count = o.schedules;
    p.execution_depth_limit = 20000;
    p.progress_stream = &quiet;
    p.output_stream = &quiet;
    bool ok = rl::simulate<Test>(p);
    printf("%s: %s, %u schedules: %s\n", ok ? "PASS" : "FAIL", what, (unsigned)p.stop_iteration, rl::test_result_str(p.test_result));
    if (!ok)
        model_failed = 1;
}

#endif
