/* See progress.h. */
#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* on a terminal a longer line would wrap, and could then not be written over */
enum { TERMINAL_COLUMNS = 79 };

static volatile sig_atomic_t caught;

void progress_start(struct progress *p, bool quiet)
{
    const char *terminal = getenv("TERM");
    *p = (struct progress){.quiet = quiet, .next = 10};
    p->terminal = isatty(STDERR_FILENO) && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

/* 10, 20, 50, 100, ... */
static size_t after(size_t step)
{
    size_t power = 10;
    while (power <= step / 10)
        power *= 10;
    return step < 2 * power ? 2 * power : step < 5 * power ? 5 * power : 10 * power;
}

static bool due(struct progress *p, size_t step)
{
    struct timespec now;
    if (p->quiet)
        return false;
    if (!p->terminal) {
        bool good = step >= p->next;
        if (good)
            p->next = after(step);
        return good;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    double passed = (double)(now.tv_sec - p->shown.tv_sec) + 1e-9 * (double)(now.tv_nsec - p->shown.tv_nsec);
    if (p->open && passed < 0.1)
        return false;
    p->shown = now;
    return true;
}

/* "\r" goes to the start of the line, "\033[K" clears what is behind the text */
static void show(struct progress *p, bool last, const char *format, va_list list)
{
    char line[512];
    vsnprintf(line, p->terminal ? TERMINAL_COLUMNS + 1 : sizeof line, format, list);
    fprintf(stderr, "%s%s%s%s", p->terminal ? "\r" : "", line, p->terminal ? "\033[K" : "",
            p->terminal && !last ? "" : "\n");
    fflush(stderr);
    p->open = p->terminal && !last;
}

void progress_step(struct progress *p, size_t step, const char *format, ...)
{
    va_list list;
    if (!due(p, step))
        return;
    va_start(list, format);
    show(p, false, format, list);
    va_end(list);
}

void progress_end(struct progress *p, const char *format, ...)
{
    va_list list;
    if (p->quiet)
        return;
    va_start(list, format);
    show(p, true, format, list);
    va_end(list);
}

void progress_clear(struct progress *p)
{
    if (p->open)
        fputs("\r\033[K", stderr);
    p->open = false;
}

static void note(int number)
{
    caught = number;
}

void catch_interrupts(void)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction before, action = {.sa_handler = note, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
        sigemptyset(&action.sa_mask);
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

bool interrupted(void)
{
    return caught != 0;
}
