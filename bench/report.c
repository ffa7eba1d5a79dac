/* Printing. */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the build passes. */
#ifndef BENCH_HAND_FLAGS
#define BENCH_HAND_FLAGS "unknown flags"
#endif
#ifndef BENCH_USER_FLAGS
#define BENCH_USER_FLAGS "unknown flags"
#endif

/* From the first processor's paragraph: some have a name that says little, others have numbers only. */
static void print_processor(FILE *f)
{
    static const struct {
        const char *key, *label;
    } lines[] = {{"model name", ""},
                 {"cpu family", " family"},
                 {"model\t", " model"},
                 {"CPU implementer", " implementer"},
                 {"CPU part", " part"}};
    char line[512];
    FILE *info = fopen("/proc/cpuinfo", "r");
    fprintf(f, "# processors: %ld x", sysconf(_SC_NPROCESSORS_ONLN));
    while (info && fgets(line, sizeof line, info) && line[0] != '\n') {
        char *colon = strchr(line, ':');
        for (size_t i = 0; i < BENCH_COUNT(lines) && colon; i++) {
            if (!strncmp(line, lines[i].key, strlen(lines[i].key)))
                fprintf(f, "%s%.*s", lines[i].label, (int)strcspn(colon + 1, "\n"), colon + 1);
        }
    }
    fputc('\n', f);
    if (info)
        fclose(info);
}

static void print_contenders(FILE *f)
{
    fprintf(f, "# other libraries:"
#ifdef HAVE_OPENMP
               " openmp"
#endif
#ifdef HAVE_TBB
               " tbb"
#endif
#ifdef HAVE_ADOLC
               " adolc"
#endif
#ifdef HAVE_SACADO
               " sacado"
#endif
               "\n");
}

void report_header(struct bench *b)
{
    FILE *f = b->table;
    fprintf(f, "# foldad-bench, libfoldad %d.%d.%d%s\n", FAD_VERSION_MAJOR, FAD_VERSION_MINOR, FAD_VERSION_PATCH,
            b->options.quick ? " (quick: the figures mean little)" : "");
    fprintf(f, "# compiler:   %s %s\n",
#ifdef __clang__
            "clang",
#else
            "gcc",
#endif
            __VERSION__);
    fprintf(f, "# hand-written contenders and other libraries' code: %s\n", BENCH_HAND_FLAGS);
    fprintf(f, "# what users of foldad write (terms, leaves, fib), and the plain fib: %s\n", BENCH_USER_FLAGS);
    print_contenders(f);
    print_processor(f);
    fprintf(f, "# contenders take turns, %u rounds; ratio = median over the median of the row named by against\n",
            b->options.rounds);
    fprintf(f, "# (same name, n and unit, one worker); targets compare medians, \"at minimum\" means: minima only\n");
    fprintf(f, "#\n# %-24s %-16s %2s %9s %-9s %12s %12s  %-14s %7s\n", "name", "contender", "w", "n", "unit", "median", "minimum",
            "against", "ratio");
}

void bench_about(struct bench *b, const char *name, const char *about)
{
    fprintf(b->table, "\n# %s: %s\n", name, about);
}

static bool meets(const struct row *r, double value, double against)
{
    return value <= r->target.factor * against + r->target.offset_ns;
}

static void print_target(FILE *f, const struct row *r)
{
    const struct target t = r->target;
    if (t.factor == 0 && t.offset_ns == 0)
        return;
    fprintf(f, "  target ");
    if (t.factor > 0 && t.factor < 1)
        fprintf(f, ">= %.3g x as fast as %s", 1 / t.factor, r->against);
    else if (t.factor > 0 && t.offset_ns > 0)
        fprintf(f, "<= %.3g x %s + %g ns", t.factor, r->against, t.offset_ns);
    else if (t.factor > 0)
        fprintf(f, "<= %.3g x %s", t.factor, r->against);
    else
        fprintf(f, "<= %g", t.offset_ns);
    fprintf(f, meets(r, r->median, r->against_median)     ? ": met"
               : meets(r, r->minimum, r->against_minimum) ? ": met at minimum"
                                                          : ": NOT met");
}

static void print_table(FILE *f, const struct row *r, bool with_target)
{
    fprintf(f, "  %-24s %-16s %2u %9zu %-9s ", r->name, r->contender, r->workers, r->n, r->unit);
    if (r->wrong && isnan(r->median)) {
        fprintf(f, "%s\n", r->wrong);
        return;
    }
    fprintf(f, "%12.*f %12.*f  ", r->median < 1e5 ? 3 : 0, r->median, r->median < 1e5 ? 3 : 0, r->minimum);
    if (r->against)
        fprintf(f, "%-14s %7.3f", r->against, r->median / r->against_median);
    if (r->against && r->workers > 1 && !strcmp(r->against, r->contender))
        fprintf(f, "  speedup %.2f", r->against_median / r->median);
    for (size_t i = 0; i < BENCH_ALSO && r->also[i]; i++)
        fprintf(f, "  %s %.3f", r->also[i], r->median / r->also_median[i]);
    if (with_target)
        print_target(f, r);
    if (r->wrong)
        fprintf(f, "  %s", r->wrong);
    fputc('\n', f);
}

/* before: a comma, unless the object begins with it */
static void print_number(const char *before, const char *key, double value)
{
    if (isfinite(value))
        printf("%s\"%s\":%.6g", before, key, value);
    else
        printf("%s\"%s\":null", before, key);
}

static void print_also(const struct row *r)
{
    printf(",\"also\":{");
    for (size_t i = 0; i < BENCH_ALSO && r->also[i]; i++)
        print_number(i ? "," : "", r->also[i], r->median / r->also_median[i]);
    printf("}");
}

static void print_json(const struct row *r)
{
    printf("{\"name\":\"%s\",\"contender\":\"%s\",\"workers\":%u,\"n\":%zu,\"unit\":\"%s\"", r->name, r->contender, r->workers,
           r->n, r->unit);
    print_number(",", "median_ns", r->median);
    print_number(",", "min_ns", r->minimum);
    if (r->against)
        printf(",\"against\":\"%s\"", r->against);
    else
        printf(",\"against\":null");
    print_number(",", "ratio", r->against ? r->median / r->against_median : NAN);
    if (r->also[0])
        print_also(r);
    if (r->wrong)
        printf(",\"wrong\":\"%s\"", r->wrong);
    printf("}\n");
    fflush(stdout);
}

void report_row(struct bench *b, const struct row *r)
{
    if (r->wrong)
        b->wrong++;
    print_table(b->table, r, !b->options.quick);
    fflush(b->table);
    if (b->options.json)
        print_json(r);
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double report_median(double *samples, size_t count)
{
    qsort(samples, count, sizeof *samples, ascending);
    return count % 2 ? samples[count / 2] : (samples[count / 2 - 1] + samples[count / 2]) / 2;
}

void bench_figure(struct bench *b, const struct figure *f)
{
    struct row r = {.name = f->name, .contender = f->contender, .workers = f->workers, .n = f->n, .unit = f->unit,
                    .target = {0, f->limit}, .median = NAN, .minimum = NAN};
    if (f->error)
        r.wrong = "ERROR";
    else {
        r.median = report_median(f->samples, f->count);
        r.minimum = f->samples[0];
    }
    report_row(b, &r);
}
