/** @file select.c  The instructions of the body.
 *
 * Nodes are taken in their order. Chains of sums become one instruction that keeps its sum in a machine register; a sum over the
 * elements is emitted as soon as its operands exist, together with the others that share the later one. None of this
 * changes a bit: a chain is the same operations in the same order. */
#include "ad/program/lower.h"

static const struct fadi_gnode *node_of(const struct fadi_lower *l, uint32_t n)
{
    return l->g->nodes + n;
}

/* ---- Operands ---- */

static void begin(struct fadi_lower *l, unsigned op, unsigned pattern)
{
    fadi_words_put(&l->starts, (uint32_t)l->body.count);
    fadi_words_put(&l->body, (uint32_t)op << FADI_CODE_SHIFT | pattern);
    l->code->body_count++;
}

static void put_raw(struct fadi_lower *l, uint32_t word)
{
    fadi_words_put(&l->body, word | FADI_REF_RAW);
}

static void put_result(struct fadi_lower *l, uint32_t n)
{
    fadi_words_put(&l->body, n | FADI_REF_RESULT);
}

/* What stands for element node n now: itself, or the temporary that it was last computed into. */
static uint32_t current(const struct fadi_lower *l, uint32_t n)
{
    return l->copy[n] ? l->copy[n] : n;
}

/* A slot or a register. */
static void put_operand(struct fadi_lower *l, uint32_t n)
{
    if (fadi_is_element(l, n))
        fadi_words_put(&l->body, current(l, n));
    else
        put_raw(l, l->reg[n]);
}

/* One operation on inputs and registers: to compute it again is cheaper than to keep it for long. */
static bool is_cheap(const struct fadi_lower *l, uint32_t n)
{
    const struct fadi_gnode *node = node_of(l, n);
    if (node->op != FADI_OP_ADD && node->op != FADI_OP_SUB && node->op != FADI_OP_MUL)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t a = i ? node->b : node->a;
        if (fadi_is_element(l, a) && fadi_graph_arity(node_of(l, a)->op))
            return false;
    }
    return true;
}

static void compute(struct fadi_lower *l, uint32_t n, uint32_t result);

/* Before n is used: if it was last used long ago and is cheap, it gets a slot only now. */
static void refresh(struct fadi_lower *l, uint32_t n)
{
    if (!fadi_is_element(l, n))
        return;
    uint32_t now = (uint32_t)l->starts.count;
    if (now - l->touched[n] > FADI_FORGET && !l->absorbed[n] && is_cheap(l, n)) {
        uint32_t copy = l->g->count + l->temporaries++;
        compute(l, n, copy);
        l->copy[n] = copy;
    }
    l->touched[n] = now;
}

/* A temporary slot with a register's number in all places. */
static uint32_t splat(struct fadi_lower *l, uint32_t n)
{
    uint32_t temporary = l->g->count + l->temporaries++;
    begin(l, FADI_CODE_SPLAT, 0);
    put_result(l, temporary);
    put_raw(l, l->reg[n]);
    return temporary;
}

/* ---- Chains ---- */

enum chain { NO_CHAIN, CHAIN_U, CHAIN_V, CHAIN_ADD, CHAIN_POLY };

static enum chain chain_of(const struct fadi_lower *l, uint32_t n)
{
    const struct fadi_gnode *node = node_of(l, n);
    if (!fadi_is_element(l, n))
        return NO_CHAIN;
    switch (node->op) {
    case FADI_OP_FMA:
    case FADI_OP_MUL: {
        bool a = fadi_is_element(l, node->a), b = fadi_is_element(l, node->b);
        return a && b ? CHAIN_V : a || b ? CHAIN_U : NO_CHAIN;
    }
    case FADI_OP_ADD:
        return fadi_is_element(l, node->a) && fadi_is_element(l, node->b) ? CHAIN_ADD : NO_CHAIN;
    default:
        return NO_CHAIN;
    }
}

/* In a * b + c with a register c: the factor that is such a node itself, as in the rule of Horner. */
static uint32_t factor_link(const struct fadi_lower *l, const struct fadi_gnode *node)
{
    for (unsigned i = 0; i < 2; i++) {
        uint32_t factor = i ? node->a : node->b;
        const struct fadi_gnode *n = node_of(l, factor);
        if (node->a != node->b && l->uses[factor] == 1 && n->op == FADI_OP_FMA && fadi_is_element(l, factor) &&
            !fadi_is_element(l, n->c))
            return factor;
    }
    return FADI_NO_NODE;
}

/* The link below n that is computed together with it, or FADI_NO_NODE. */
static uint32_t link_of(const struct fadi_lower *l, uint32_t n)
{
    const struct fadi_gnode *node = node_of(l, n);
    enum chain kind = chain_of(l, n);
    if (kind == CHAIN_ADD) {
        if (l->uses[node->b] == 1 && chain_of(l, node->b) == kind)
            return node->b;
        return l->uses[node->a] == 1 && chain_of(l, node->a) == kind ? node->a : FADI_NO_NODE;
    }
    if (kind == NO_CHAIN || node->op != FADI_OP_FMA)
        return FADI_NO_NODE;
    if (!fadi_is_element(l, node->c))
        return kind == CHAIN_V ? factor_link(l, node) : FADI_NO_NODE;
    if (l->uses[node->c] != 1 || chain_of(l, node->c) != kind)
        return FADI_NO_NODE;
    const struct fadi_gnode *c = node_of(l, node->c);
    bool ends_polynomial = c->op == FADI_OP_FMA && !fadi_is_element(l, c->c) && factor_link(l, c) != FADI_NO_NODE;
    return ends_polynomial ? FADI_NO_NODE : node->c; /* that one is another kind of chain */
}

static void absorb_links(struct fadi_lower *l)
{
    for (uint32_t n = 0; n < l->g->count; n++) {
        l->below[n] = l->live[n] ? link_of(l, n) : FADI_NO_NODE;
        if (l->below[n] != FADI_NO_NODE)
            l->absorbed[l->below[n]] = true;
    }
}

/* A link's own operands: a register and a slot, two slots, or one. */
static void put_link(struct fadi_lower *l, enum chain kind, uint32_t n, uint32_t below)
{
    const struct fadi_gnode *node = node_of(l, n);
    if (kind == CHAIN_ADD) {
        put_operand(l, node->a == below ? node->b : node->a);
    } else if (kind == CHAIN_U && fadi_is_element(l, node->a)) {
        put_operand(l, node->b);
        put_operand(l, node->a);
    } else {
        put_operand(l, node->a);
        put_operand(l, node->b);
    }
}

/* Where a chain begins: an operand of its first link, or nothing. */
static uint32_t start_of(const struct fadi_lower *l, enum chain kind, uint32_t first)
{
    const struct fadi_gnode *node = node_of(l, first);
    if (kind == CHAIN_ADD)
        return node->a;
    if (kind == CHAIN_POLY)
        return fadi_is_element(l, node->a) ? node->b : node->a;
    return node->op == FADI_OP_FMA ? node->c : FADI_NO_NODE;
}

static void put_links(struct fadi_lower *l, enum chain kind, uint32_t first, uint32_t before)
{
    for (uint32_t at = first; at != FADI_NO_NODE; at = l->below[at]) {
        const struct fadi_gnode *node = node_of(l, at);
        if (kind == CHAIN_POLY) {
            put_operand(l, node->a == before ? node->b : node->a);
            put_operand(l, node->c);
        } else {
            put_link(l, kind, at, before);
        }
        before = at;
    }
}

/* The chain that ends in n, from its start. */
static void emit_chain(struct fadi_lower *l, uint32_t n)
{
    static const unsigned codes[] = {[CHAIN_U] = FADI_CODE_DOT_U,
                                     [CHAIN_V] = FADI_CODE_DOT_V,
                                     [CHAIN_ADD] = FADI_CODE_ADD,
                                     [CHAIN_POLY] = FADI_CODE_POLY};
    enum chain kind = chain_of(l, n);
    uint32_t count = 0, at = n, first = FADI_NO_NODE;
    if (node_of(l, n)->op == FADI_OP_FMA && !fadi_is_element(l, node_of(l, n)->c))
        kind = CHAIN_POLY;
    while (at != FADI_NO_NODE) { /* turns the links round: below leads upwards from here on */
        uint32_t next = l->below[at];
        l->below[at] = first;
        first = at;
        at = next;
        count++;
    }
    for (at = first; at != FADI_NO_NODE; at = l->below[at])
        for (unsigned i = 0; i < 2; i++)
            refresh(l, i ? node_of(l, at)->b : node_of(l, at)->a);
    uint32_t start = start_of(l, kind, first);
    enum fadi_start how = start == FADI_NO_NODE       ? FADI_START_NONE
                          : fadi_is_element(l, start) ? FADI_START_SLOT
                                                      : FADI_START_REGISTER;
    if (start != FADI_NO_NODE)
        refresh(l, start);
    begin(l, codes[kind], how);
    put_result(l, n);
    if (start == FADI_NO_NODE)
        put_raw(l, 0);
    else
        put_operand(l, start);
    put_raw(l, count);
    put_links(l, kind, first, start);
}

/* ---- Other operations ---- */

/* Whether the executors take registers as operands of op. */
static bool takes_registers(unsigned op)
{
    switch (op) {
    case FADI_OP_ADD:
    case FADI_OP_SUB:
    case FADI_OP_MUL:
    case FADI_OP_DIV:
    case FADI_OP_MULZ:
    case FADI_G_MULZZ:
    case FADI_G_DIVZ:
    case FADI_OP_LT:
    case FADI_OP_LE:
    case FADI_OP_EQ:
    case FADI_OP_FMA:
    case FADI_G_FMS:
    case FADI_G_FNMA:
    case FADI_OP_SELECT:
        return true;
    default:
        return false;
    }
}

static void compute(struct fadi_lower *l, uint32_t n, uint32_t result)
{
    const struct fadi_gnode *node = node_of(l, n);
    uint32_t operand[3];
    unsigned count = fadi_operands(node, operand), pattern = 0;
    bool by_register[3] = {false, false, false};
    for (unsigned i = 0; i < count; i++)
        refresh(l, operand[i]);
    for (unsigned i = 0; i < count; i++) {
        if (fadi_is_element(l, operand[i])) {
            operand[i] = current(l, operand[i]);
            continue;
        }
        by_register[i] = takes_registers(node->op) && !(node->op == FADI_OP_SELECT && i == 0);
        if (by_register[i])
            pattern |= 1u << i;
        else
            operand[i] = splat(l, operand[i]);
    }
    begin(l, node->op, pattern);
    put_result(l, result);
    for (unsigned i = 0; i < count; i++)
        if (by_register[i])
            put_raw(l, l->reg[operand[i]]);
        else
            fadi_words_put(&l->body, operand[i]);
}

/* log1pexp and its derivative share an exponential: the one that comes first computes both. */
static bool emit_softplus(struct fadi_lower *l, uint32_t n)
{
    const struct fadi_gnode *node = node_of(l, n);
    bool derivative = node->op == FADI_OP_LOGISTIC;
    if (!derivative && node->op != FADI_OP_LOG1PEXP)
        return false;
    uint32_t other = fadi_graph_find(l->g, derivative ? FADI_OP_LOG1PEXP : FADI_OP_LOGISTIC, node->a);
    if (other == FADI_NO_NODE || !l->live[other])
        return false;
    refresh(l, node->a);
    begin(l, FADI_CODE_SOFTPLUS, 0);
    put_result(l, derivative ? other : n);
    put_result(l, derivative ? n : other);
    put_operand(l, node->a);
    l->absorbed[other] = true;
    return true;
}

/* ---- Sums over the elements ---- */

/* Lists each sum with the later one of its operands. */
static void list_sums(struct fadi_lower *l)
{
    for (uint32_t n = 0; n < l->g->count; n++)
        l->sum_head[n] = FADI_NO_NODE;
    for (uint32_t n = l->g->count; n-- > 0;) {
        const struct fadi_gnode *node = node_of(l, n);
        if (!l->live[n] || node->op != FADI_G_SUM)
            continue;
        uint32_t key = node->b != FADI_NO_NODE && node->b > node->a ? node->b : node->a;
        l->sum_next[n] = l->sum_head[key];
        l->sum_head[key] = n;
    }
}

static uint32_t sum_index(const struct fadi_lower *l, uint32_t sum)
{
    return l->reg[sum] - l->code->first_sum;
}

/* Sums that have nothing in common wait until there are enough of them to be added up side by side. */
static void flush_sums(struct fadi_lower *l, bool products)
{
    struct fadi_waiting *w = l->waiting + products;
    for (uint32_t i = 0; i < w->count; i++) {
        const struct fadi_gnode *node = node_of(l, w->sum[i]);
        refresh(l, node->a);
        if (products)
            refresh(l, node->b);
    }
    if (w->count == 0)
        return;
    begin(l, products ? FADI_CODE_PAIRS : FADI_CODE_ACC, 0);
    put_raw(l, w->count);
    for (uint32_t i = 0; i < w->count; i++) {
        const struct fadi_gnode *node = node_of(l, w->sum[i]);
        put_operand(l, node->a);
        if (products)
            put_operand(l, node->b);
        put_raw(l, sum_index(l, w->sum[i]));
    }
    w->count = 0;
}

static void wait_for_others(struct fadi_lower *l, uint32_t sum)
{
    bool products = node_of(l, sum)->b != FADI_NO_NODE;
    struct fadi_waiting *w = l->waiting + products;
    w->sum[w->count++] = sum;
    if (w->count == FADI_WAIT_MAX)
        flush_sums(l, products);
}

static void emit_products(struct fadi_lower *l, uint32_t key, uint32_t count)
{
    for (uint32_t s = l->sum_head[key]; s != FADI_NO_NODE; s = l->sum_next[s])
        if (node_of(l, s)->b != FADI_NO_NODE)
            refresh(l, node_of(l, s)->a == key ? node_of(l, s)->b : node_of(l, s)->a);
    begin(l, FADI_CODE_GER, 0);
    put_operand(l, key);
    put_raw(l, count);
    for (uint32_t s = l->sum_head[key]; s != FADI_NO_NODE; s = l->sum_next[s]) {
        const struct fadi_gnode *node = node_of(l, s);
        if (node->b == FADI_NO_NODE)
            continue;
        put_operand(l, node->a == key ? node->b : node->a);
        put_raw(l, sum_index(l, s));
    }
}

static void emit_sums(struct fadi_lower *l, uint32_t key)
{
    uint32_t products = 0;
    for (uint32_t s = l->sum_head[key]; s != FADI_NO_NODE; s = l->sum_next[s])
        products += node_of(l, s)->b != FADI_NO_NODE;
    for (uint32_t s = l->sum_head[key]; s != FADI_NO_NODE; s = l->sum_next[s])
        if (products < FADI_TOGETHER || node_of(l, s)->b == FADI_NO_NODE)
            wait_for_others(l, s);
    if (products >= FADI_TOGETHER)
        emit_products(l, key, products);
}

/* Outputs that are the same for all elements get a slot too. */
static void splat_roots(struct fadi_lower *l)
{
    for (size_t i = 2; i < l->roots.count; i += 3)
        if (!fadi_is_element(l, l->roots.data[i]))
            l->roots.data[i] = splat(l, l->roots.data[i]);
        else
            l->roots.data[i] = current(l, l->roots.data[i]);
}

void fadi_select(struct fadi_lower *l)
{
    absorb_links(l);
    list_sums(l);
    for (uint32_t n = 0; n < l->g->count && !l->body.error; n++) {
        if (!l->live[n] || !fadi_is_element(l, n))
            continue;
        if (fadi_graph_arity(node_of(l, n)->op) && !l->absorbed[n]) {
            if (l->below[n] != FADI_NO_NODE)
                emit_chain(l, n);
            else if (!emit_softplus(l, n))
                compute(l, n, n);
        }
        l->touched[n] = (uint32_t)l->starts.count;
        emit_sums(l, n);
    }
    flush_sums(l, false);
    flush_sums(l, true);
    splat_roots(l);
}
