/** @file slots.c  Gives slots to what is alive at the same time, and writes the body. */
#include <foldad/base.h>
#include <stdlib.h>

#include "ad/program/lower.h"

struct slots {
    struct fadi_lower *l;
    uint32_t *last;        /* the last instruction that uses a node */
    uint32_t *slot;        /* of each node */
    uint32_t *free, count; /* slots that nobody needs, the youngest last */
};

static bool is_node(uint32_t word)
{
    return !(word & FADI_REF_RAW);
}

static size_t end_of(const struct fadi_lower *l, size_t i)
{
    return i + 1 < l->starts.count ? l->starts.data[i + 1] : l->body.count;
}

static void find_last_uses(struct slots *s)
{
    const struct fadi_lower *l = s->l;
    for (size_t i = 0; i < l->starts.count; i++)
        for (size_t at = l->starts.data[i] + 1; at < end_of(l, i); at++)
            if (is_node(l->body.data[at]))
                s->last[l->body.data[at] & FADI_REF_BITS] = (uint32_t)i;
    for (size_t i = 2; i < l->roots.count; i += 3)
        s->last[l->roots.data[i]] = UINT32_MAX;
}

static uint32_t take_slot(struct slots *s)
{
    return s->count ? s->free[--s->count] : s->l->code->slots++;
}

static bool is_input(const struct fadi_lower *l, uint32_t n)
{
    return l->live[n] && fadi_is_element(l, n) && !l->by_row[n] && fadi_graph_arity(l->g->nodes[n].op) == 0;
}

static int list_inputs(struct slots *s)
{
    const struct fadi_lower *l = s->l;
    struct fadi_code *c = l->code;
    size_t count = 0;
    for (uint32_t n = 0; n < l->g->count; n++)
        count += is_input(l, n);
    c->in = malloc((count + 1) * sizeof *c->in);
    if (!c->in)
        return FAD_ENOMEM;
    for (uint32_t n = 0; n < l->g->count; n++)
        if (is_input(l, n)) {
            s->slot[n] = take_slot(s);
            c->in[c->in_count++] = (struct fadi_column){l->g->nodes[n].op, l->g->nodes[n].a, s->slot[n]};
        }
    return FAD_OK;
}

static int list_outputs(struct slots *s)
{
    const struct fadi_words *roots = &s->l->roots;
    struct fadi_code *c = s->l->code;
    c->out_count = roots->count / 3;
    c->out = malloc((c->out_count + 1) * sizeof *c->out);
    if (!c->out)
        return FAD_ENOMEM;
    for (size_t i = 0; i < c->out_count; i++)
        c->out[i] = (struct fadi_column){roots->data[3 * i], roots->data[3 * i + 1], s->slot[roots->data[3 * i + 2]]};
    return FAD_OK;
}

/* One instruction: operands first, whose slots may then become those of results. All executors read the operands' lanes before
 * they write the results' same lanes, and no other lanes. */
static void assign(struct slots *s, size_t i)
{
    struct fadi_lower *l = s->l;
    uint32_t *word = l->body.data;
    size_t begin = l->starts.data[i] + 1, end = end_of(l, i);
    for (size_t at = begin; at < end; at++) {
        uint32_t n = word[at] & FADI_REF_BITS;
        if (!is_node(word[at]) || word[at] & FADI_REF_RESULT)
            continue;
        word[at] = s->slot[n] | FADI_REF_RAW;
        if (s->last[n] == i) {
            s->free[s->count++] = s->slot[n];
            s->last[n] = UINT32_MAX; /* an operand may be there twice */
        }
    }
    for (size_t at = begin; at < end; at++)
        if (is_node(word[at])) {
            uint32_t n = word[at] & FADI_REF_BITS;
            s->slot[n] = take_slot(s);
            word[at] = s->slot[n] | FADI_REF_RAW;
        }
}

static int write_words(struct slots *s)
{
    struct fadi_lower *l = s->l;
    struct fadi_code *c = l->code;
    c->words = malloc((l->body.count + 1) * sizeof *c->words);
    if (!c->words)
        return FAD_ENOMEM;
    for (size_t i = 0; i < l->body.count; i++)
        c->words[i] = l->body.data[i] & ~FADI_REF_RAW;
    c->words[l->body.count] = (uint32_t)FADI_CODE_END << FADI_CODE_SHIFT;
    c->word_count = l->body.count + 1;
    return FAD_OK;
}

static int run(struct slots *s)
{
    int rc = list_inputs(s);
    find_last_uses(s);
    for (size_t i = 0; i < s->l->starts.count && !rc; i++)
        assign(s, i);
    if (!rc)
        rc = list_outputs(s);
    return rc ? rc : write_words(s);
}

int fadi_assign_slots(struct fadi_lower *l)
{
    size_t nodes = (size_t)l->g->count + l->temporaries + 1;
    struct slots s = {.l = l};
    s.last = calloc(nodes, sizeof *s.last);
    s.slot = malloc(nodes * sizeof *s.slot);
    s.free = malloc(nodes * sizeof *s.free);
    int rc = s.last && s.slot && s.free ? run(&s) : FAD_ENOMEM;
    free(s.last);
    free(s.slot);
    free(s.free);
    return rc;
}
