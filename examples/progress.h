/** @file progress.h  Tells on standard error how far a long computation is, and hears Ctrl-C.
 *
 * On a terminal one line is written over and over, at most ten times a second. Elsewhere there are plain lines: for the
 * steps 10, 20, 50, 100, 200, ... and for the end, so that a log stays short and does not depend on time. */
#ifndef EXAMPLES_PROGRESS_H
#define EXAMPLES_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct progress {
    bool quiet, terminal, open; /**< open: an unfinished line stands on the terminal */
    size_t next;                /**< the step of the next plain line */
    struct timespec shown;
};

/** quiet: nothing is ever written. */
void progress_start(struct progress *p, bool quiet);

/** What is known after a step; steps are counted from 1. */
void progress_step(struct progress *p, size_t step, const char *format, ...) __attribute__((format(printf, 3, 4)));

/** The last line, which stays. */
void progress_end(struct progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Takes the unfinished line off the terminal, before something else is written there. */
void progress_clear(struct progress *p);

/** From here on the first Ctrl-C (or SIGTERM) is only noted, for interrupted(); a second one ends the process. A Ctrl-C that
 * the process was started to ignore stays ignored. */
void catch_interrupts(void);
bool interrupted(void);

#endif
