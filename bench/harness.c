/* Measuring. */
#include "harness.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Times of one contender: round r's time per call in sample[r]. */
struct series {
    const struct contender *c;
    double *sample;
    double *out;
    double minimum; /* less that of c->minus: the smallest difference would flatter */
    size_t calls;   /* in one round */
    int error;
    const char *wrong;
};

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

void bench_sleep(unsigned microseconds)
{
    struct timespec t = {microseconds / 1000000, (long)(microseconds % 1000000) * 1000};
    while (nanosleep(&t, &t) != 0)
        ;
}

void *bench_alloc(size_t bytes)
{
    void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    if (!p) {
        fprintf(stderr, "foldad-bench: no memory for %zu bytes\n", bytes);
        exit(2);
    }
    return p;
}

uint64_t bench_hash(uint64_t counter)
{
    uint64_t z = (counter + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

double bench_uniform(uint64_t counter)
{
    return (double)(bench_hash(counter) >> 11) * 0x1p-52 - 1;
}

#define POOLS 16
static fad_pool *pools[POOLS];

fad_pool *bench_pool(unsigned workers)
{
    for (int i = 0; i < POOLS; i++) {
        if (!pools[i] && fad_pool_create(&pools[i], &(struct fad_pool_options){.workers = workers}) != FAD_OK)
            break;
        if (fad_pool_workers(pools[i]) == workers)
            return pools[i];
    }
    /* With fewer workers the rows would be wrong. */
    fprintf(stderr, "foldad-bench: no pool of %u workers\n", workers);
    exit(2);
}

void bench_pools_destroy(void)
{
    for (int i = 0; i < POOLS; i++) {
        if (fad_pool_destroy(pools[i]) == FAD_OK)
            pools[i] = NULL;
    }
}

static void *problem_of(const struct group *g, const struct contender *c)
{
    return c->problem ? c->problem : g->problem;
}

static const void *results_of(const struct group *g, const struct contender *c)
{
    return c->results ? c->results : problem_of(g, c);
}

static double time_calls(const struct group *g, struct series *s, size_t calls)
{
    double start = bench_now();
    for (size_t i = 0; i < calls && !s->error; i++)
        s->error = s->c->call(problem_of(g, s->c), s->c->workers, s->out);
    return (bench_now() - start) / (double)calls;
}

/* Other runtimes' threads spin for some milliseconds after a call before they sleep; nobody should pay for that but
 * the one who did it. The untimed call wakes this contender's own threads again. */
static void settle(struct bench *b, const struct group *g, struct series *s)
{
    bench_sleep(b->options.quick ? 500 : 10000);
    if (s->calls > 1)
        time_calls(g, s, 1);
}

/* As many calls a round as make it long against the clock. */
static void calibrate(struct bench *b, const struct group *g, struct series *s)
{
    double enough = b->options.quick ? 2e5 : 1e7, ns;
    s->calls = 1;
    ns = time_calls(g, s, 1);
    if (g->idle_us || s->c->untimed)
        return;
    while (!s->error && (ns = time_calls(g, s, s->calls) * (double)s->calls) < enough) {
        double factor = ceil(1.2 * enough / (ns + 1));
        s->calls = (size_t)fmin((double)s->calls * fmax(2, fmin(factor, 100)), 1e8);
    }
}

static void measure(struct bench *b, const struct group *g, struct series *s, size_t count, size_t rounds)
{
    bool crowded = true;
    for (size_t i = 0; i < count; i++)
        calibrate(b, g, &s[i]);
    for (size_t r = 0; r < rounds; r++) {
        for (size_t i = 0; i < count; i++) {
            struct series *turn = &s[(i + r) % count];
            if (turn->c->untimed)
                continue;
            if (g->idle_us)
                bench_sleep(g->idle_us);
            else if (crowded || turn->c->workers > 1)
                settle(b, g, turn);
            crowded = turn->c->workers > 1;
            turn->sample[r] = time_calls(g, turn, turn->calls);
        }
    }
}

static size_t outputs_of(const struct group *g, const struct contender *c)
{
    return c->outputs ? c->outputs : g->outputs;
}

/* The first output is a value, the others a gradient, whose entries may cancel: they are judged by the largest one. */
static bool close_enough(const double *out, const double *expected, size_t outputs, double tolerance)
{
    double scale = 0;
    for (size_t i = 1; i < outputs; i++)
        scale = fmax(scale, fabs(expected[i]));
    for (size_t i = 0; i < outputs; i++) {
        double larger = i ? scale : fabs(expected[0]);
        if (!(fabs(out[i] - expected[i]) <= tolerance * larger))
            return false;
    }
    return true;
}

static const char *compare(const struct group *g, const struct series *all, size_t count, const struct series *s)
{
    size_t outputs = outputs_of(g, s->c);
    bool judged = false;
    for (size_t i = 0; i < count; i++) {
        const struct series *other = &all[i];
        if (other == s || other->error || results_of(g, other->c) != results_of(g, s->c))
            continue;
        if (!judged && outputs_of(g, other->c) >= outputs) {
            judged = true;
            if (!close_enough(s->out, other->out, outputs, s->c->tolerance > 0 ? s->c->tolerance : g->tolerance))
                return "WRONG RESULT";
        }
        if (!strcmp(other->c->name, s->c->name) && !strncmp(s->c->name, "foldad", 6) &&
            memcmp(s->out, other->out, outputs * sizeof(double)) != 0)
            return "OTHER BITS with other workers";
    }
    return NULL;
}

static void check(const struct group *g, struct series *s, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (s[i].error)
            s[i].wrong = s[i].error < 0 ? fad_strerror(s[i].error) : "ERROR";
        else
            s[i].wrong = compare(g, s, count, &s[i]);
    }
}

static const struct series *find(const struct series *s, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(s[i].c->name, name))
            return &s[i];
    }
    return NULL;
}

static const char *unit_of(const struct group *g, const struct contender *c)
{
    return c->unit ? c->unit : g->unit;
}

/* From times of calls to what the rows show. Contenders that another one names as minus have none themselves. */
static void to_units(const struct group *g, struct series *s, size_t count, size_t rounds)
{
    for (size_t i = 0; i < count; i++) {
        if (s[i].c->untimed)
            memset(s[i].sample, 0, rounds * sizeof *s[i].sample);
        s[i].minimum = s[i].sample[0];
        for (size_t r = 1; r < rounds; r++)
            s[i].minimum = fmin(s[i].minimum, s[i].sample[r]);
    }
    for (size_t i = 0; i < count; i++) {
        const struct series *minus = s[i].c->minus ? find(s, count, s[i].c->minus) : NULL;
        for (size_t r = 0; r < rounds && minus; r++)
            s[i].sample[r] -= minus->sample[r];
        s[i].minimum -= minus ? minus->minimum : 0;
    }
    for (size_t i = 0; i < count; i++) {
        double units = s[i].c->unit ? s[i].c->units : g->units;
        for (size_t r = 0; r < rounds; r++)
            s[i].sample[r] /= units;
        s[i].minimum /= units;
    }
}

static const struct row *opponent(const struct row *rows, size_t count, const struct row *of, const char *name)
{
    const struct row *found = NULL;
    for (size_t i = 0; i < count && name; i++) {
        const struct row *r = &rows[i];
        if (r == of || strcmp(r->contender, name) != 0)
            continue;
        if (!found || (strcmp(found->unit, of->unit) != 0 && !strcmp(r->unit, of->unit)))
            found = r;
    }
    return found;
}

static void set_against(const struct group *g, const struct contender *c, const struct row *rows, size_t count, struct row *r)
{
    const struct row *o = opponent(rows, count, r, r->against);
    size_t also = 0;
    if (o) {
        r->against_median = o->median;
        r->against_minimum = o->minimum;
    } else {
        r->against = NULL;
    }
    if (r->target.factor > 0 && (!o || o->median * (c->unit ? c->units : g->units) < r->target.call_ns))
        r->target = (struct target){0};
    for (size_t i = 0; i < BENCH_ALSO; i++) {
        o = opponent(rows, count, r, c->also[i]);
        if (!o)
            continue;
        r->also[also] = c->also[i];
        r->also_median[also++] = o->median;
    }
}

static void print(struct bench *b, const struct group *g, struct series *s, size_t count, size_t rounds)
{
    struct row *rows = bench_alloc(count * sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        const struct contender *c = s[i].c;
        rows[i] = (struct row){.name = g->name, .contender = c->name, .workers = c->workers, .n = g->n, .unit = unit_of(g, c),
                               .against = c->against, .target = c->target, .wrong = s[i].wrong};
        rows[i].median = s[i].error ? NAN : report_median(s[i].sample, rounds);
        rows[i].minimum = s[i].error ? NAN : s[i].minimum;
    }
    bench_about(b, g->name, g->about);
    for (size_t i = 0; i < count; i++) {
        if (s[i].c->untimed)
            continue;
        set_against(g, s[i].c, rows, count, &rows[i]);
        report_row(b, &rows[i]);
    }
    free(rows);
}

void bench_group(struct bench *b, const struct group *g)
{
    /* After a sleep there is one call a round, and more of them are needed. */
    size_t rounds = b->options.rounds * (g->idle_us ? 4 : 1), count = 0;
    struct series *s = bench_alloc(g->count * sizeof *s);
    for (size_t i = 0; i < g->count; i++) {
        if (!g->list[i].call)
            continue;
        s[count] = (struct series){.c = &g->list[i], .sample = bench_alloc(rounds * sizeof(double)),
                                   .out = bench_alloc(g->outputs * sizeof(double))};
        memset(s[count++].out, 0, g->outputs * sizeof(double));
    }
    measure(b, g, s, count, rounds);
    check(g, s, count);
    to_units(g, s, count, rounds);
    print(b, g, s, count, rounds);
    for (size_t i = 0; i < count; i++) {
        free(s[i].sample);
        free(s[i].out);
    }
    free(s);
}
