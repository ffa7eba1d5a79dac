/* Options and watchdog of the stress programs. */
#include "stress/stress.h"

#include <stdarg.h>

static uint64_t seed_of_run;
static atomic_ullong progress;
static double patience = 60 * STRESS_SLOWER;

void stress_progress(void)
{
    atomic_fetch_add_explicit(&progress, 1, memory_order_relaxed); /* relaxed: only whether it changes */
}

static _Noreturn void end_badly(void)
{
    printf("seed=%llu: wrong\n", (unsigned long long)seed_of_run);
    fflush(stdout);
    _exit(1);
}

void stress_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    end_badly();
}

int stress_end(unsigned long long done, unsigned long long wrong)
{
    if (wrong || done == 0)
        fprintf(stderr, "%s, seed %llu\n", wrong ? "wrong" : "nothing was done", (unsigned long long)seed_of_run);
    return wrong || done == 0;
}

static void *watch(void *end)
{
    double last = stress_now(), late = *(double *)end + 2 * patience;
    unsigned long long seen = 0;
    for (;;) {
        double now = stress_now();
        unsigned long long at = atomic_load_explicit(&progress, memory_order_relaxed);
        if (at != seen)
            last = now;
        seen = at;
        if (now - last > patience || now > late)
            break;
        usleep(200000);
    }
    printf("no progress for %.0f s\n", stress_now() - last);
    stress_print_threads();
    stress_print_pools();
    end_badly();
}

struct stress stress_options(int argc, char **argv)
{
    static double end; /* outlives main's frame, for the watchdog */
    struct stress s = {0, 1, 0, 0};
    pthread_t watchdog;
    int c;
    s.seed = (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
    while ((c = getopt(argc, argv, "t:s:r:w:")) != -1)
        switch (c) {
        case 't': s.threads = (unsigned)strtoul(optarg, NULL, 0); break;
        case 's': s.seconds = strtod(optarg, NULL); break;
        case 'r': s.seed = strtoull(optarg, NULL, 0); break;
        case 'w': patience = strtod(optarg, NULL); break;
        default:
            fprintf(stderr, "usage: %s [-t threads] [-s seconds] [-r seed] [-w seconds without progress]\n", argv[0]);
            exit(1);
        }
    printf("seed=%llu\n", (unsigned long long)s.seed);
    fflush(stdout);
    seed_of_run = s.seed;
    s.end = end = stress_now() + s.seconds;
    if (pthread_create(&watchdog, NULL, watch, &end))
        exit(77);
    pthread_detach(watchdog);
    return s;
}
