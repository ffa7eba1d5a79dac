/** @file lower.c  What is computed where: registers, prologue, epilogue, outputs. */
#include "ad/program/lower.h"

#include <foldad/base.h>
#include <stdlib.h>

void fadi_words_put(struct fadi_words *w, uint32_t word)
{
    if (w->error)
        return;
    if (w->count == w->room) {
        size_t room = w->room ? 2 * w->room : 256;
        uint32_t *data = realloc(w->data, room * sizeof *data);
        if (!data) {
            w->error = FAD_ENOMEM;
            return;
        }
        w->data = data;
        w->room = room;
    }
    w->data[w->count++] = word;
}

/* ---- Which nodes are needed ---- */

static void need_list(struct fadi_lower *l, const uint32_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] != FADI_NO_NODE)
            l->live[list[i]] = true;
}

static void put_roots(struct fadi_lower *l, unsigned which, const uint32_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] != FADI_NO_NODE) {
            fadi_words_put(&l->roots, which);
            fadi_words_put(&l->roots, (uint32_t)i);
            fadi_words_put(&l->roots, list[i]);
            l->uses[list[i]]++;
        }
    need_list(l, list, count);
}

static void find_live(struct fadi_lower *l)
{
    const struct fadi_build *b = l->b;
    unsigned want = l->wanted;
    if (want & FADI_WANT_VALUE)
        need_list(l, b->out.sum, b->y_count);
    if ((want & FADI_WANT_SHARED) && b->touch)
        put_roots(l, FADI_WANT_SHARED, b->out.shared, b->y_count * b->shared);
    else if (want & FADI_WANT_SHARED)
        need_list(l, b->out.shared, b->y_count * b->shared);
    if ((want & FADI_WANT_SECOND) && b->touch)
        put_roots(l, FADI_WANT_SECOND, b->hessian_vector, b->y_count * b->shared);
    else if (want & FADI_WANT_SECOND)
        need_list(l, b->hessian_vector, b->y_count * b->shared);
    if (want & FADI_WANT_OWN)
        put_roots(l, FADI_WANT_OWN, b->out.own, b->y_count * b->own);
    if (want & FADI_WANT_TANGENT)
        need_list(l, b->value_tangent, b->y_count);
    for (uint32_t n = l->g->count; n-- > 0;) {
        uint32_t operand[3];
        unsigned count = l->live[n] ? fadi_operands(l->g->nodes + n, operand) : 0;
        for (unsigned i = 0; i < count; i++) {
            l->live[operand[i]] = true;
            l->uses[operand[i]]++;
        }
    }
}

/* ---- Registers ---- */

static bool is_sum(const struct fadi_gnode *n)
{
    return n->op == FADI_G_SUM;
}

static void put_scalar(struct fadi_lower *l, uint32_t n, size_t at)
{
    const struct fadi_gnode *node = l->g->nodes + n;
    struct fadi_scalar *s = l->code->scalars + at;
    uint32_t operand[3];
    unsigned count = fadi_operands(node, operand);
    *s = (struct fadi_scalar){node->op, l->reg[n], {node->a, 0, 0}};
    for (unsigned i = 0; i < count; i++)
        s->operand[i] = l->reg[operand[i]];
}

/* Live nodes of the level, inputs or others, but not sums: their registers and instructions. Returns how many. */
static size_t put_level(struct fadi_lower *l, unsigned level, bool inputs, size_t at)
{
    size_t first = at;
    for (uint32_t n = 0; n < l->g->count; n++)
        if (l->live[n] && l->g->nodes[n].level == level && !is_sum(l->g->nodes + n) &&
            (fadi_graph_arity(l->g->nodes[n].op) == 0) == inputs) {
            l->reg[n] = l->code->registers++;
            put_scalar(l, n, at++);
        }
    return at - first;
}

static size_t count_level(const struct fadi_lower *l, unsigned level, bool sums)
{
    size_t count = 0;
    for (uint32_t n = 0; n < l->g->count; n++)
        count += l->live[n] && l->g->nodes[n].level == level && is_sum(l->g->nodes + n) == sums;
    return count;
}

static int lay_out_registers(struct fadi_lower *l)
{
    struct fadi_code *c = l->code;
    size_t prologue = count_level(l, FADI_SHARED, false), epilogue = count_level(l, FADI_AFTER, false);
    c->constants = malloc((count_level(l, FADI_CONSTANT, false) + 1) * sizeof *c->constants);
    c->scalars = malloc((prologue + epilogue + 1) * sizeof *c->scalars);
    if (!c->constants || !c->scalars)
        return FAD_ENOMEM;
    for (uint32_t n = 0; n < l->g->count; n++)
        if (l->live[n] && l->g->nodes[n].level == FADI_CONSTANT) {
            c->constants[c->registers] = l->g->nodes[n].value;
            l->reg[n] = c->registers++;
        }
    c->constant_count = c->registers;
    c->inputs = put_level(l, FADI_SHARED, true, 0);
    c->prologue = put_level(l, FADI_SHARED, false, c->inputs);
    c->first_sum = c->registers;
    for (uint32_t n = 0; n < l->g->count; n++)
        if (l->live[n] && is_sum(l->g->nodes + n))
            l->reg[n] = c->registers++;
    c->sums = c->registers - c->first_sum;
    c->epilogue = put_level(l, FADI_AFTER, false, c->inputs + c->prologue);
    return FAD_OK;
}

/* ---- Outputs ---- */

static uint32_t *registers_of(const struct fadi_lower *l, bool wanted, const uint32_t *list, size_t count, int *rc)
{
    uint32_t *out = wanted ? malloc((count + 1) * sizeof *out) : NULL;
    if (wanted && !out)
        *rc = FAD_ENOMEM;
    for (size_t i = 0; out && i < count; i++)
        out[i] = list[i] == FADI_NO_NODE ? FADI_NO_NODE : l->reg[list[i]];
    return out;
}

static int list_outputs(struct fadi_lower *l)
{
    const struct fadi_build *b = l->b;
    struct fadi_code *c = l->code;
    size_t shared = b->y_count * b->shared;
    int rc = FAD_OK;
    c->value = registers_of(l, l->wanted & FADI_WANT_VALUE, b->out.sum, b->y_count, &rc);
    c->shared = registers_of(l, (l->wanted & FADI_WANT_SHARED) && !b->touch, b->out.shared, shared, &rc);
    c->second = registers_of(l, (l->wanted & FADI_WANT_SECOND) && !b->touch, b->hessian_vector, shared, &rc);
    c->tangent = registers_of(l, l->wanted & FADI_WANT_TANGENT, b->value_tangent, b->y_count, &rc);
    return rc;
}

static int run(struct fadi_lower *l)
{
    uint32_t count = l->g->count;
    l->live = calloc(count + (size_t)1, sizeof *l->live);
    l->uses = calloc(count + (size_t)1, sizeof *l->uses);
    l->reg = malloc((count + (size_t)1) * sizeof *l->reg);
    l->below = malloc((count + (size_t)1) * sizeof *l->below);
    l->absorbed = calloc(count + (size_t)1, sizeof *l->absorbed);
    l->sum_head = malloc((count + (size_t)1) * sizeof *l->sum_head);
    l->sum_next = malloc((count + (size_t)1) * sizeof *l->sum_next);
    l->touched = calloc(count + (size_t)1, sizeof *l->touched);
    l->copy = calloc(count + (size_t)1, sizeof *l->copy);
    if (!l->touched || !l->copy || !l->live || !l->uses || !l->reg || !l->below || !l->absorbed || !l->sum_head ||
        !l->sum_next)
        return FAD_ENOMEM;
    find_live(l);
    int rc = lay_out_registers(l);
    if (!rc)
        rc = list_outputs(l);
    if (!rc) {
        fadi_select(l);
        rc = l->body.error ? l->body.error : l->starts.error ? l->starts.error : l->roots.error;
    }
    rc = rc ? rc : fadi_use_rows(l);
    return rc ? rc : fadi_assign_slots(l);
}

int fadi_lower(const struct fadi_build *b, unsigned wanted, struct fadi_code *code)
{
    struct fadi_lower l = {.b = b, .g = &b->graph, .wanted = wanted, .code = code};
    *code = (struct fadi_code){.slots = 0};
    int rc = b->graph.count > FADI_REF_BITS / 2 ? FAD_EOVERFLOW : run(&l);
    free(l.live);
    free(l.uses);
    free(l.reg);
    free(l.below);
    free(l.absorbed);
    free(l.touched);
    free(l.copy);
    free(l.by_row);
    free(l.sum_head);
    free(l.sum_next);
    free(l.body.data);
    free(l.starts.data);
    free(l.roots.data);
    if (rc)
        fadi_code_fini(code);
    return rc;
}

void fadi_code_fini(struct fadi_code *c)
{
    free(c->words);
    free(c->constants);
    free(c->scalars);
    free(c->in);
    free(c->out);
    free(c->value);
    free(c->shared);
    free(c->tangent);
    free(c->second);
    *c = (struct fadi_code){.slots = 0};
}
