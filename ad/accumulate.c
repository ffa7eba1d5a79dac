/** @file accumulate.c  See accumulate.h. */
#include "ad/accumulate.h"

#include <stdlib.h>
#include <string.h>

#define LINES_A_PAGE (FADI_PAGE / FADI_LINE)
_Static_assert(LINES_A_PAGE == 32, "a mask is a uint32_t");

static void copy_line(double *restrict to, const double *restrict from)
{
    for (size_t i = 0; i < FADI_LINE; i++)
        to[i] = from[i];
}

static void add_line(double *restrict to, const double *restrict from)
{
    for (size_t i = 0; i < FADI_LINE; i++)
        to[i] += from[i];
}

static void zero_line(double *line)
{
    for (size_t i = 0; i < FADI_LINE; i++)
        line[i] = 0.0;
}

/* ---- Sets ---- */

static struct fadi_acc *make(struct fadi_accs *set)
{
    struct fadi_acc *a = fadi_own_lines(sizeof *a);
    if (!a)
        return NULL;
    memset(a, 0, sizeof *a);
    /* relaxed: the next exchange corrects it */
    a->made = atomic_load_explicit(&set->made, memory_order_relaxed);
    /* release: who walks the list (after the call, ordered by its end) sees a's fields */
    while (!atomic_compare_exchange_weak_explicit(&set->made, &a->made, a, memory_order_release, memory_order_relaxed))
        ;
    return a;
}

/* Pushes the chain first .. last. */
static void push_spare(struct fadi_accs *set, struct fadi_acc *first, struct fadi_acc *last)
{
    /* relaxed: the exchange below corrects it */
    last->spare = atomic_load_explicit(&set->spare, memory_order_relaxed);
    /* release, pairs with the acquire in pop_spare: contents and links. Pushing alone has no ABA problem. */
    while (!atomic_compare_exchange_weak_explicit(&set->spare, &last->spare, first, memory_order_release,
                                                  memory_order_relaxed))
        ;
}

/* Takes the whole list, keeps one and puts the others back: taking one alone would need a remedy against ABA. */
static struct fadi_acc *pop_spare(struct fadi_accs *set)
{
    /* relaxed: only a hint that saves an exchange */
    if (!atomic_load_explicit(&set->spare, memory_order_relaxed))
        return NULL;
    /* acquire, pairs with the release in push_spare */
    struct fadi_acc *a = atomic_exchange_explicit(&set->spare, NULL, memory_order_acquire);
    if (a && a->spare) {
        struct fadi_acc *last = a->spare;
        while (last->spare)
            last = last->spare;
        push_spare(set, a->spare, last);
    }
    return a;
}

struct fadi_acc *fadi_acc_take(struct fadi_accs *set)
{
    struct fadi_acc *a = fadi_stock_take(set->place, FADI_ACC_PLACES, FADI_ACC_PLACES);
    if (!a)
        a = pop_spare(set);
    if (!a)
        a = make(set);
    if (!a || a->room >= set->pages)
        return a;
    struct fadi_page *pages = realloc(a->pages, set->pages * sizeof *pages);
    if (!pages) {
        fadi_acc_give(set, a);
        return NULL;
    }
    memset(pages + a->room, 0, (set->pages - a->room) * sizeof *pages);
    a->pages = pages;
    a->room = set->pages;
    return a;
}

void fadi_acc_give(struct fadi_accs *set, struct fadi_acc *a)
{
    if (!fadi_stock_give(set->place, FADI_ACC_PLACES, FADI_ACC_PLACES, a))
        push_spare(set, a, a);
}

void fadi_accs_start(struct fadi_accs *set, size_t pages)
{
    set->pages = pages;
}

void fadi_accs_clear(struct fadi_accs *set)
{
    while (fadi_stock_take(set->place, FADI_ACC_PLACES, FADI_ACC_PLACES))
        ;
    atomic_store(&set->spare, NULL);
    for (struct fadi_acc *a = atomic_load(&set->made); a; a = a->made) {
        fadi_acc_empty(a, a->room);
        fadi_acc_give(set, a);
    }
}

size_t fadi_accs_bytes(const struct fadi_accs *set)
{
    size_t bytes = 0;
    for (const struct fadi_acc *a = atomic_load(&set->made); a; a = a->made)
        bytes += a->room * (sizeof *a->pages + FADI_PAGE * sizeof(double));
    return bytes;
}

void fadi_accs_end(struct fadi_accs *set)
{
    struct fadi_acc *a = atomic_load(&set->made);
    while (a) {
        struct fadi_acc *next = a->made;
        for (size_t i = 0; i < a->room; i++)
            free(a->pages[i].data);
        free(a->pages);
        free(a);
        a = next;
    }
}

/* ---- Accumulators ---- */

static bool move_line(struct fadi_acc *a, size_t page, unsigned line, double *from)
{
    struct fadi_page *p = a->pages + page;
    uint32_t bit = UINT32_C(1) << line;
    if (!p->data) {
        p->data = aligned_alloc(64, FADI_PAGE * sizeof *p->data);
        if (!p->data)
            return false;
    }
    if (p->mask & bit)
        add_line(p->data + line * FADI_LINE, from);
    else
        copy_line(p->data + line * FADI_LINE, from);
    p->mask |= bit;
    return true;
}

int fadi_acc_move(struct fadi_acc *a, size_t first, double *row, unsigned char *touched, size_t lines)
{
    bool ok = a != NULL;
    for (size_t i = 0; i < lines; i++) {
        if (touched) {
            uint64_t eight;
            if (i % 8 == 0 && i + 8 <= lines) {
                memcpy(&eight, touched + i, sizeof eight);
                if (!eight) {
                    i += 7;
                    continue;
                }
            }
            if (!touched[i])
                continue;
            touched[i] = 0;
        }
        ok = ok && move_line(a, first + i / LINES_A_PAGE, i % LINES_A_PAGE, row + i * FADI_LINE);
        zero_line(row + i * FADI_LINE);
    }
    return ok ? FAD_OK : FAD_ENOMEM;
}

static void add_page(struct fadi_page *left, struct fadi_page *right)
{
    if (!left->mask) {
        struct fadi_page p = *left;
        *left = *right;
        *right = p;
    }
    for (uint32_t rest = right->mask; rest; rest &= rest - 1) {
        unsigned line = (unsigned)__builtin_ctz(rest);
        double *to = left->data + line * FADI_LINE, *from = right->data + line * FADI_LINE;
        if (left->mask & UINT32_C(1) << line)
            add_line(to, from);
        else
            copy_line(to, from);
    }
    left->mask |= right->mask;
    right->mask = 0;
}

void fadi_acc_add(struct fadi_acc *left, struct fadi_acc *right, size_t pages)
{
    for (size_t i = 0; i < pages; i++)
        if (right->pages[i].mask)
            add_page(left->pages + i, right->pages + i);
}

void fadi_acc_empty(struct fadi_acc *a, size_t pages)
{
    for (size_t i = 0; i < pages && i < a->room; i++)
        a->pages[i].mask = 0;
}

void fadi_acc_read_at(const struct fadi_acc *a, size_t at, size_t count, double *out)
{
    for (size_t j = 0; j < count; j++) {
        const struct fadi_page *p = a->pages + (at + j) / FADI_PAGE;
        size_t i = (at + j) % FADI_PAGE;
        out[j] = p->mask >> (i / FADI_LINE) & 1 ? fadi_canonical(p->data[i]) : 0.0;
    }
}

void fadi_acc_read(const struct fadi_acc *a, size_t first, size_t count, double *out)
{
    fadi_acc_read_at(a, first * FADI_PAGE + 1, count, out);
}
