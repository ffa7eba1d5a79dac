/** @file segment.c  See segment.h. */
#include "ad/segment.h"

#include <string.h>

/* A part of the block: from *at on, whole words. */
static void *part(struct fadi_segment *s, size_t *at, size_t bytes)
{
    void *p = (char *)s + *at;
    *at += (bytes + 7) / 8 * 8;
    return p;
}

struct fadi_segment *fadi_segment_of(struct fadi_tape *t, size_t inputs, size_t value_count, size_t id_count)
{
    size_t nodes = (size_t)(t->head.next - t->base) - inputs, at = sizeof(struct fadi_segment);
    size_t bytes = at + nodes * sizeof *t->nodes + t->word_count * sizeof *t->words + value_count * sizeof(double) +
                   (id_count + 1) / 2 * 8;
    struct fadi_segment *s = malloc(bytes);
    if (!s)
        return NULL;
    *s = (struct fadi_segment){.next = t->head.next};
    s->nodes = part(s, &at, nodes * sizeof *t->nodes);
    s->words = part(s, &at, t->word_count * sizeof *t->words);
    s->values = part(s, &at, value_count * sizeof(double));
    s->ids = part(s, &at, id_count * sizeof *s->ids);
    if (nodes)
        memcpy(s->nodes, t->nodes + inputs, nodes * sizeof *t->nodes);
    if (t->word_count)
        memcpy(s->words, t->words, t->word_count * sizeof *t->words);
    s->branches = t->branches;
    t->branches = NULL;
    return s;
}

void fadi_segment_free(struct fadi_segment *s)
{
    if (s)
        fadi_branches_free(&s->branches, 0);
    free(s);
}

uint64_t fadi_segment_digest(const struct fadi_segment *s, uint64_t base)
{
    struct fadi_tape view = {.head.next = s->next, .base = base, .nodes = s->nodes, .words = s->words};
    return fad_tape_digest(&view.head);
}

int fadi_segment_on(struct fadi_tape *t, const struct fadi_segment *s, size_t inputs, struct fadi_tape *view)
{
    int rc = fadi_tape_reserve(t, s->next);
    *view = *t;
    view->base = t->base + inputs;
    view->nodes = s->nodes;
    view->words = s->words;
    return rc;
}

int fadi_segment_forward(struct fadi_tape *t, struct fadi_tape *view, fadi_forward *sweep, uint64_t first, uint64_t last,
                         double *tangents)
{
    bool held = fadi_tape_hold(t);
    int rc = sweep(view, first, last, tangents), misuse = held ? fadi_tape_release(t) : FAD_OK;
    return rc ? rc : misuse;
}

int fadi_segment_sweep(struct fadi_tape *t, struct fadi_tape *view, uint64_t first, uint64_t last, double *adjoints,
                       unsigned char *touched)
{
    if (view == t)
        return fadi_sweep(t, first, last, adjoints, touched);
    bool held = fadi_tape_hold(t);
    int rc = fadi_sweep(view, first, last, adjoints, touched), misuse = held ? fadi_tape_release(t) : FAD_OK;
    return rc ? rc : misuse;
}
