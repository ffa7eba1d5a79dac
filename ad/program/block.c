/** @file block.c  Numbers of a block's elements into slots, and from slots to where they belong. */
#include <string.h>

#include "ad/program/block.h"
#include "ad/program/columns.h"

static double *column(const struct fadi_block *b, const struct fadi_column *c)
{
    return b->frame.slots + c->slot * b->frame.stride;
}

/* ---- What the body reads ---- */

static const uint32_t *picks(const struct fadi_block *b, size_t i)
{
    const struct fad_sum *s = b->plan->c->s;
    return s->touch + b->k[i] * s->touch_count;
}

/* Columns whose numbers follow each other in the rows: 4, 2 or 1 of them. */
struct group {
    const double *const *row;
    size_t index, count;
    double *to[4];
};
#define GROUPS 64

/* Numbers of the elements i .. i + 3. */
static inline __attribute__((always_inline)) void load_group(const struct group *g, size_t i)
{
    const double *const row[4] = {g->row[i] + g->index, g->row[i + 1] + g->index, g->row[i + 2] + g->index,
                                  g->row[i + 3] + g->index};
    if (g->count == 4) {
        fadi_four v[4] = {fadi_four_load(row[0]), fadi_four_load(row[1]), fadi_four_load(row[2]),
                          fadi_four_load(row[3])};
        fadi_transpose(v, v + 1, v + 2, v + 3);
        for (int r = 0; r < 4; r++)
            fadi_four_store(g->to[r] + i, v[r]);
    } else if (g->count == 2) {
        fadi_four p = fadi_four_pairs(row[0], row[1]), q = fadi_four_pairs(row[2], row[3]);
        fadi_four_store(g->to[0] + i, FADI_FOUR_OF(p, q, 0, 2, 4, 6));
        fadi_four_store(g->to[1] + i, FADI_FOUR_OF(p, q, 1, 3, 5, 7));
    } else {
        fadi_four_store(g->to[0] + i, (fadi_four){*row[0], *row[1], *row[2], *row[3]});
    }
}

/* Long rows: one after the other, as they lie in memory. */
static void load_long(const struct fadi_block *b, const struct group *g, size_t count)
{
    for (size_t i = 0; i < b->lanes; i += 4)
        for (size_t j = 0; j < count; j++)
            load_group(g + j, i);
}

static void load_groups(const struct fadi_block *b, const struct group *g, size_t count)
{
    if (count > 2) {
        load_long(b, g, count);
        return;
    }
    for (; count > 0; count--, g++) { /* a loop for each kind of group */
        const struct group four = {g->row, g->index, 4, {g->to[0], g->to[1], g->to[2], g->to[3]}};
        const struct group two = {g->row, g->index, 2, {g->to[0], g->to[1]}}, one = {g->row, g->index, 1, {g->to[0]}};
        for (size_t i = 0; g->count == 4 && i < b->lanes; i += 4)
            load_group(&four, i);
        for (size_t i = 0; g->count == 2 && i < b->lanes; i += 4)
            load_group(&two, i);
        for (size_t i = 0; g->count == 1 && i < b->lanes; i += 4)
            load_group(&one, i);
    }
}

static void load_other(const struct fadi_block *b, const struct fadi_column *c)
{
    double *to = column(b, c);
    const struct fadi_plan *p = b->plan;
    const struct fad_sum *s = p->c->s;
    for (size_t i = 0; i < b->count; i++)
        switch (c->what) {
        case FADI_G_X_TANGENT: /* none was given, or the component is fixed */
            to[i] = 0.0;
            break;
        case FADI_G_DATA:
            to[i] = b->f->bases[c->index][b->k[i] * b->f->form->build.column_stride[c->index]];
            break;
        case FADI_G_TOUCH:
            to[i] = s->shared[picks(b, i)[c->index]];
            break;
        default: {
            uint32_t at = picks(b, i)[c->index];
            to[i] = p->r->shared_tangent && !(s->shared_fixed && s->shared_fixed[at]) ? p->r->shared_tangent[at] : 0.0;
        }
        }
    for (size_t i = b->count; i < b->lanes; i++) /* lanes that do not count compute with numbers that do */
        to[i] = to[b->count - 1];
}

/* Whether a column is loaded from rows: of x, or of its tangents. */
static bool from_rows(const struct fadi_block *b, const struct fadi_column *c)
{
    const unsigned char *fixed = b->plan->c->s->x_fixed;
    return c->what == FADI_G_X || (c->what == FADI_G_X_TANGENT && b->plan->x_tangent && !(fixed && fixed[c->index]));
}

static bool follows(const struct fadi_block *b, const struct fadi_column *c, const struct fadi_column *before, size_t by)
{
    return from_rows(b, c) && c->what == before->what && c->index == before->index + by;
}

/* How many columns from j on make a group. Three at an end take the one before them along: it is loaded twice. */
static size_t group_at(const struct fadi_block *b, size_t *j)
{
    const struct fadi_code *code = b->f->code;
    size_t n = 1;
    while (n < 4 && *j + n < code->in_count && follows(b, code->in + *j + n, code->in + *j, n))
        n++;
    if (n == 3 && *j > 0 && from_rows(b, code->in + *j - 1) && follows(b, code->in + *j, code->in + *j - 1, 1)) {
        --*j;
        return 4;
    }
    return n == 3 ? 2 : n;
}

void fadi_block_load(const struct fadi_block *b)
{
    const struct fadi_code *code = b->f->code;
    struct group groups[GROUPS];
    size_t count = 0;
    for (size_t j = 0, n; j < code->in_count; j += n) {
        bool rows = from_rows(b, code->in + j);
        n = rows ? group_at(b, &j) : 1;
        const struct fadi_column *c = code->in + j;
        if (!rows) {
            load_other(b, c);
            continue;
        }
        struct group *g = groups + count++;
        g->row = c->what == FADI_G_X ? b->row : b->tangent;
        g->index = c->index;
        g->count = n;
        for (size_t r = 0; r < n; r++)
            g->to[r] = column(b, c + r);
        if (count == GROUPS) {
            load_groups(b, groups, count);
            count = 0;
        }
    }
    load_groups(b, groups, count);
}

/* ---- What it leaves ---- */

static bool stores_own(const struct fadi_block *b, size_t i)
{
    const struct fadi_call *c = b->plan->c;
    return !c->x_overlaps && !(c->s->x_blocks && !c->s->x_blocks[b->k[i]].gradient);
}

static double *own_row(const struct fadi_block *b, size_t i, size_t o)
{
    const struct fadi_call *c = b->plan->c;
    return c->x_built + o * c->x_total + b->start[i];
}

/* Columns of one output that follow each other, for elements that all have a gradient: row after row. */
static void store_groups(const struct fadi_block *b, const struct group *g, size_t count, size_t o)
{
    for (size_t i = 0; i < b->count; i += 4) {
        size_t rows = b->count - i < 4 ? b->count - i : 4;
        for (size_t j = 0; j < count; j++) {
            fadi_four v[4];
            for (int r = 0; r < 4; r++)
                v[r] = fadi_four_canonical(fadi_four_load(g[j].to[r] + i));
            fadi_transpose(v, v + 1, v + 2, v + 3);
            for (size_t r = 0; r < rows; r++)
                fadi_four_store(own_row(b, i + r, o) + g[j].index, v[r]);
        }
    }
}

static void store_own(const struct fadi_block *b, const struct fadi_column *c, size_t o, size_t j)
{
    const double *from = column(b, c);
    for (size_t i = 0; i < b->count; i++)
        if (stores_own(b, i))
            own_row(b, i, o)[j] = fadi_canonical(from[i]);
}

/* Components that are fixed, or that the term does not use, have no column that counts. */
static void clear_own(const struct fadi_block *b)
{
    struct fadi_call *c = b->plan->c;
    size_t own = b->f->form->own;
    if (b->f->own_columns == own * c->y_count && !c->s->x_fixed)
        return;
    for (size_t i = 0; i < b->count; i++)
        for (size_t o = 0; o < c->y_count && stores_own(b, i); o++)
            memset(own_row(b, i, o), 0, own * sizeof *c->x_built);
}

static bool is_own(const struct fadi_code *code, size_t j, size_t index)
{
    return j < code->out_count && code->out[j].what == FADI_WANT_OWN && code->out[j].index == index;
}

/* Where all components of an output have a column, from j on. Groups may overlap: the same is then stored twice. */
static void store_output(const struct fadi_block *b, size_t j, size_t o)
{
    const struct fadi_column *c = b->f->code->out + j;
    size_t own = b->f->form->own, count = 0;
    struct group groups[GROUPS];
    for (size_t at = 0; at < own; at += 4) {
        size_t index = at + 4 <= own ? at : own - 4;
        struct group *g = groups + count++;
        g->row = NULL;
        g->index = index;
        for (int r = 0; r < 4; r++)
            g->to[r] = column(b, c + index + r);
        if (count == GROUPS) {
            store_groups(b, groups, count, o);
            count = 0;
        }
    }
    store_groups(b, groups, count, o);
}

static void store_all_own(const struct fadi_block *b)
{
    const struct fadi_code *code = b->f->code;
    const struct fadi_call *call = b->plan->c;
    size_t own = b->f->form->own;
    bool every = own >= 4 && !call->x_overlaps && !call->s->x_blocks && !call->s->x_fixed;
    clear_own(b);
    for (size_t j = 0; j < code->out_count; j++) {
        const struct fadi_column *c = code->out + j;
        if (c->what != FADI_WANT_OWN || (call->s->x_fixed && call->s->x_fixed[c->index % own]))
            continue;
        if (every && c->index % own == 0 && is_own(code, j + own - 1, c->index + own - 1)) {
            store_output(b, j, c->index / own);
            j += own - 1;
        } else {
            store_own(b, c, c->index / own, c->index % own);
        }
    }
}

static double *pick_row(const struct fadi_block *b, unsigned what, size_t o)
{
    const struct fadi_plan *p = b->plan;
    size_t region = what == FADI_WANT_SECOND && (p->wanted & FADI_WANT_SHARED) ? p->c->y_count + o : o;
    return b->m->row + (p->sum_pages + region * p->pick_pages) * FADI_PAGE;
}

/* In the order of the elements, and of each one's parameters. */
static void scatter(const struct fadi_block *b)
{
    const struct fadi_code *code = b->f->code;
    size_t touched = b->plan->c->s->touch_count;
    for (size_t i = 0; i < b->count; i++)
        for (size_t j = 0; j < code->out_count; j++) {
            const struct fadi_column *c = code->out + j;
            if (c->what != FADI_WANT_SHARED && c->what != FADI_WANT_SECOND)
                continue;
            double *row = pick_row(b, c->what, c->index / touched);
            size_t at = picks(b, i)[c->index % touched] + (size_t)1;
            row[at] += column(b, c)[i];
            b->m->marks[((size_t)(row - b->m->row) + at) / FADI_LINE] = 1;
        }
}

void fadi_block_store(const struct fadi_block *b)
{
    if (b->plan->wanted & FADI_WANT_OWN)
        store_all_own(b);
    if (b->plan->picked)
        scatter(b);
}
