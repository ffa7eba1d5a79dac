/** @file common.h  What the example programs share: options, complaints, the pool, digests, exit codes. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <foldad/foldad.h>

/** Exit codes of the examples. */
enum { EXIT_RIGHT = 0, EXIT_WRONG = 1, EXIT_INPUT = 2 };

/** A program's name, for its complaints, and its -h text. */
struct program {
    const char *name, *help;
};

/** Prints "NAME: sentence" and a hint at -h on stderr. Returns EXIT_INPUT. */
int refuse(const struct program *program, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Prints "NAME: what: reason" for a library call that failed, with the element to blame if there is one (failure may
 * be NULL). Returns EXIT_WRONG. */
int failed(const struct program *program, const char *what, int status, const struct fad_failure *failure);

/** A whole number from low to high out of an option's argument, nothing else. False: complained about. */
bool option_count(const struct program *program, char option, const char *argument, size_t low, size_t high,
                  size_t *value);

/** A finite number, nothing else. False: complained about. */
bool option_number(const struct program *program, char option, const char *argument, double *value);

/** getopt with the program's letters, which start with ":", and --help besides, which is 'h'. */
int option_next(int argc, char **argv, const char *letters);

/** For what option_next gives beside a program's own options. Returns the exit code. */
int option_other(const struct program *program, int got, char *const *argv);

/** A pool of that many workers; 0: the library's default. False: complained about. */
bool open_pool(const struct program *program, size_t workers, fad_pool **pool);

/** FNV-1a over the bits of numbers, least significant byte first. */
#define DIGEST_START UINT64_C(0xcbf29ce484222325)
uint64_t digest(uint64_t hash, const double *values, size_t count);

/** Prints the digest and makes sure that everything printed has got out. Returns code, or EXIT_WRONG if not. */
int finish(const struct program *program, uint64_t hash, int code);

#endif
