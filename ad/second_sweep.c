/** @file second_sweep.c  The sweep of second derivatives: an adjoint and its tangents together. */
#include <string.h>

#include "ad/second.h"

struct sweep {
    double w, dots[FADI_DIRECTIONS]; /* of the operation in work */
    size_t count;
    const struct fadi_second_rows *rows;
};

/* stops: a partial of 0 takes no part in the gradient. */
static void add_to(const struct sweep *s, size_t a, double p, const double *slope, bool stops)
{
    double *adjoints = s->rows->adjoints;
    if (s->w != 0.0 && !(stops && p == 0.0))
        adjoints[a] = fma(s->w, p, adjoints[a]);
    for (size_t d = 0; d < s->count; d++)
        s->rows->dot[d][a] += fadi_stop(s->dots[d], p) + fadi_stop(s->w, slope[d]);
    fadi_second_mark(s->rows, s->count, a);
}

static void spread(const struct fadi_tape *t, const struct sweep *s, size_t at, bool stops)
{
    const double *slopes = t->second->word_slopes;
    uint32_t head;
    do {
        uint32_t first = t->words[at].head.first, count;
        head = t->words[at].head.count;
        count = head & ~FADI_SEGMENT_MORE;
        const union fadi_word *p = t->words + at + 1, *ids = p + count;
        for (uint32_t i = 0; i < count; i++)
            add_to(s, first ? first + i : ids[i / 2].id[i % 2], p[i].partial, slopes + (at + 1 + i) * s->count, stops);
        at += fadi_segment_words(t->words + at);
    } while (head & FADI_SEGMENT_MORE);
}

/* Takes the operation's adjoints; whether there are any. */
static bool take(struct sweep *s, size_t id)
{
    double *adjoints = s->rows->adjoints;
    bool any = adjoints[id] != 0.0;
    s->w = adjoints[id];
    adjoints[id] = 0.0;
    for (size_t d = 0; d < s->count; d++) {
        s->dots[d] = s->rows->dot[d][id];
        s->rows->dot[d][id] = 0.0;
        any |= s->dots[d] != 0.0;
    }
    return any;
}

/* A result's adjoints stay where they are until the sweep comes to the call, whose own one says that there are any. */
static void put_back(const struct sweep *s, size_t id, size_t call)
{
    s->rows->adjoints[id] = s->w;
    for (size_t d = 0; d < s->count; d++)
        s->rows->dot[d][id] = s->dots[d];
    s->rows->adjoints[call] = 1.0;
}

/* Runs a call's function, unless one has failed already, and leaves the adjoints of its results at zero. */
static int run_call(struct fadi_tape *t, const struct sweep *s, uint64_t id, const struct fad_node *node, int rc)
{
    union fadi_word *words = t->words + node->a0;
    size_t count = words[1].call.results;
    if (rc == FAD_OK) {
        bool held = fadi_tape_hold(t);
        rc = words[0].kind->pull_second(t, words + 2, id + 1, s->rows);
        int misuse = held ? fadi_tape_release(t) : FAD_OK;
        rc = rc ? rc : misuse;
    }
    memset(s->rows->adjoints + id + 1, 0, count * sizeof *s->rows->adjoints);
    for (size_t d = 0; d < s->count; d++)
        memset(s->rows->dot[d] + id + 1, 0, count * sizeof *s->rows->adjoints);
    return rc;
}

static void pull_back(const struct fadi_tape *t, const struct sweep *s, uint64_t id, const struct fad_node *node)
{
    const double *slope = t->second->slopes + 2 * (id - t->base) * s->count;
    if (node->a1 == FADI_NODE_MANY) {
        spread(t, s, node->a0, node->p0 != 0.0);
        return;
    }
    if (node->a0 != id)
        add_to(s, node->a0, node->p0, slope, false);
    if (node->a1 != id)
        add_to(s, node->a1, node->p1, slope + s->count, false);
}

int fadi_second_sweep(struct fadi_tape *t, uint64_t first, uint64_t last, const struct fadi_second_rows *rows)
{
    struct sweep s = {.count = t->second->count, .rows = rows};
    int rc = FAD_OK;
    for (uint64_t id = last; id >= first; id--) {
        const struct fad_node *node = t->nodes + (id - t->base);
        if (!take(&s, (size_t)id))
            continue;
        if (node->a1 == FADI_NODE_RESULT)
            put_back(&s, (size_t)id, (size_t)(id - node->a0 - 1));
        else if (node->a1 == FADI_NODE_CALL)
            rc = run_call(t, &s, id, node, rc);
        else
            pull_back(t, &s, id, node);
    }
    return rc;
}
