/* See common.h. */
#include "common.h"
#include "text.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int refuse(const struct program *program, const char *format, ...)
{
    va_list list;
    fprintf(stderr, "%s: ", program->name);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fprintf(stderr, "; '%s -h' says how it is called\n", program->name);
    return EXIT_INPUT;
}

int failed(const struct program *program, const char *what, int status, const struct fad_failure *failure)
{
    fprintf(stderr, "%s: %s: %s", program->name, what, fad_strerror(status));
    if (failure != NULL && failure->index != SIZE_MAX)
        fprintf(stderr, ", element %zu", failure->index);
    if (failure != NULL && failure->reason != NULL)
        fprintf(stderr, " (%s)", failure->reason);
    fputc('\n', stderr);
    return EXIT_WRONG;
}

static struct span whole(const char *argument)
{
    return (struct span){argument, strlen(argument)};
}

bool option_count(const struct program *program, char option, const char *argument, size_t low, size_t high,
                  size_t *value)
{
    size_t number;
    if (text_count(whole(argument), &number) && number >= low && number <= high) {
        *value = number;
        return true;
    }
    refuse(program, "-%c %s: expected a whole number from %zu to %zu", option, argument, low, high);
    return false;
}

bool option_number(const struct program *program, char option, const char *argument, double *value)
{
    if (text_number(whole(argument), value))
        return true;
    refuse(program, "-%c %s: expected a finite decimal number", option, argument);
    return false;
}

int option_next(int argc, char **argv, const char *letters)
{
    static const struct option help[] = {{"help", no_argument, NULL, 'h'}, {0}};
    return getopt_long(argc, argv, letters, help, NULL);
}

int option_other(const struct program *program, int got, char *const *argv)
{
    if (got == 'h') {
        fputs(program->help, stdout);
        return fflush(stdout) == 0 ? EXIT_RIGHT : EXIT_WRONG;
    }
    if (got == ':')
        return refuse(program, "option -%c lacks its value", optopt);
    if (strncmp(argv[optind - 1], "--", 2) == 0)
        return refuse(program, "unknown option %s", argv[optind - 1]);
    return refuse(program, "unknown option -%c", optopt);
}

bool open_pool(const struct program *program, size_t workers, fad_pool **pool)
{
    struct fad_pool_options options = {.workers = (unsigned)workers};
    int status = fad_pool_create(pool, &options);
    if (status != FAD_OK)
        failed(program, "starting the workers", status, NULL);
    return status == FAD_OK;
}

uint64_t digest(uint64_t hash, const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        for (int byte = 0; byte < 8; byte++, bits >>= 8)
            hash = (hash ^ (bits & 0xff)) * UINT64_C(0x100000001b3);
    }
    return hash;
}

int finish(const struct program *program, uint64_t hash, int code)
{
    printf("digest %016" PRIx64 "\n", hash);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "%s: cannot write the results: %s\n", program->name, strerror(errno));
    return EXIT_WRONG;
}
