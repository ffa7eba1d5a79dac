/* A piece goes through its leaves in order and keeps the results of complete nodes on a stack, as a binary counter does.
 * What lies beyond the cursor it offers to others: always the largest right child, so that an offer is a node and what
 * remains is a run of nodes. When it gets to an offer it takes it back: if nobody has taken it the cursor goes on, and if
 * somebody has, his result is pushed like any other node. So the combinations are those of the tree, whoever makes them. */
#include "sched/piece.h"

#include "sched/arch.h"
#include "sched/tree.h"

/* A fold wakes nobody in its first 10 us, and offers nothing that takes less than 5, or less than 20 if all others are
 * asleep: waking costs the caller about 10 us, and the sleeper runs 15 to 75 us later. */
#define QUIET_NS 10000u
#define OFFER_NS 5000u
#define WAKE_NS 20000u

struct node {
    void *acc;
    size_t leaves;
};

struct offer {
    fad_task task;
    struct fadi_fold *fold;
    size_t lo, hi;
    void *acc;
};

struct piece {
    struct fadi_fold *fold;
    struct fadi_worker *w;
    size_t lo, cursor, end;    /* leaves; [cursor, end) is still to do and not offered */
    bool dead;                 /* an element failed: results are void */
    unsigned nodes, offers, spare;
    struct node *node;         /* complete, from left to right, sizes falling */
    struct offer *offer;       /* from right to left */
    void *result;              /* accumulator of the leftmost node */
    void **spare_acc;          /* accumulators that have been used and are free again */
    char *new_acc;             /* the next one that has not been used */
    size_t check;              /* the cursor at which to think about offers again */
    size_t timed_from;         /* cursor and time of the last look at the clock */
    uint64_t timed_at;         /* ns, or ticks while quiet */
    bool quiet;                /* the fold has only begun: nothing is offered yet */
};

/* ---- memory ---- */

/* Accumulators: one for each node of the stack and each offer. They are made when first needed. */
static bool piece_init(struct piece *p, void *acc)
{
    struct fadi_fold *f = p->fold;
    size_t depth = fadi_tree_depth(p->end - p->lo), nodes = depth + 2;
    size_t fixed = nodes * sizeof *p->node + depth * sizeof *p->offer + (nodes + depth + 1) * sizeof *p->spare_acc;
    size_t accs = f->acc_bytes ? nodes + depth : 0;
    char *memory;
    fixed = (fixed + 127) / 128 * 128;
    memory = fadi_scratch_push(&p->w->scratch, fixed + accs * f->acc_bytes);
    if (!memory)
        return false;
    p->offer = (struct offer *)memory;
    p->node = (struct node *)(p->offer + depth);
    p->spare_acc = (void **)(p->node + nodes);
    p->new_acc = memory + fixed;
    p->result = acc;
    return true;
}

static void *take_acc(struct piece *p)
{
    if (p->spare)
        return p->spare_acc[--p->spare];
    if (p->fold->acc_bytes == 0)
        return NULL;
    p->new_acc += p->fold->acc_bytes;
    return p->new_acc - p->fold->acc_bytes;
}

static void give_acc(struct piece *p, void *acc)
{
    if (acc && acc != p->result)
        p->spare_acc[p->spare++] = acc;
}

/* ---- combining ---- */

/* Puts a complete node behind those on the stack. Two neighbours of the same size are the children of a node: a node's left
 * child is a power of two, and so is its right child if it has the same size. */
static void push(struct piece *p, void *acc, size_t leaves)
{
    unsigned n = p->nodes;
    if (p->dead) {
        give_acc(p, acc);
        return;
    }
    for (; n && p->node[n - 1].leaves == leaves; n--, leaves *= 2) {
        void *left = p->node[n - 1].acc;
        if (left)
            p->fold->monoid->combine(left, acc, p->fold->user);
        give_acc(p, acc);
        acc = left;
    }
    p->node[n] = (struct node){acc, leaves};
    p->nodes = n + 1;
}

/* What is left at the end are the left children on the way down to the last leaf. */
static void combine_all(struct piece *p)
{
    for (unsigned n = p->nodes; n > 1 && p->fold->acc_bytes; n--)
        p->fold->monoid->combine(p->node[n - 2].acc, p->node[n - 1].acc, p->fold->user);
}

/* ---- leaves ---- */

static void fold_leaf(struct piece *p)
{
    struct fadi_fold *f = p->fold;
    size_t begin = f->first + p->cursor * f->leaf_size;
    size_t end = f->end - begin > f->leaf_size ? begin + f->leaf_size : f->end;
    size_t failed = begin;
    void *acc;
    int code;
    /* relaxed: seen late it only means work for nothing */
    if (begin > FAD_LOAD(&f->failed, FAD_RELAXED)) {
        p->dead = true;
        p->cursor = p->end;
        return;
    }
    acc = p->cursor == p->lo ? p->result : take_acc(p);
    if (acc)
        f->monoid->identity(acc, f->user);
    code = f->leaf(begin, end, acc, f->user, &failed);
    if (code) {
        fadi_fold_fail(f, failed >= begin && failed < end ? failed : begin, code, true);
        p->dead = true;
    }
    push(p, acc, 1);
    p->cursor++;
}

/* ---- offers ---- */

static int run_offer(fad_worker *w, void *arg)
{
    struct offer *o = arg;
    return !fadi_piece_run((struct fadi_worker *)w, o->fold, o->lo, o->hi, o->acc);
}

/* Offers every right child beyond the cursor that has at least that many leaves, the largest first. */
static void offer_siblings(struct piece *p, size_t least)
{
    bool any = false;
    while (p->cursor < p->end) {
        size_t at = fadi_tree_sibling(p->lo, p->cursor, p->end);
        struct offer *o = &p->offer[p->offers];
        if (p->end - at < least || at == p->end)
            break;
        *o = (struct offer){.fold = p->fold, .lo = at, .hi = p->end, .acc = take_acc(p)};
        p->offers++;
        p->end = at;
        fad_fork(&p->w->deque.pub, &o->task, run_offer, o);
        any = true;
    }
    if (any)
        fadi_publish(p->w);
}

/* How long a leaf takes, or 0 while the fold is quiet. */
static uint64_t leaf_of_beginning(struct piece *p)
{
    uint64_t ticks = fadi_ticks() - p->timed_at, quiet = fadi_ticks_10us();
    size_t done = p->cursor;
    if (ticks < quiet) {
        p->check = p->cursor + 3 * done;
        return 0;
    }
    p->quiet = false;
    p->timed_from = p->cursor;
    p->timed_at = fadi_now_ns();
    return (uint64_t)((double)ticks / (double)quiet * QUIET_NS / (double)done) + 1;
}

static uint64_t leaf_since_last_look(struct piece *p)
{
    uint64_t now, leaf_ns;
    size_t done = p->cursor - p->timed_from;
    if (!done)
        return FAD_LOAD(&p->fold->leaf_ns, FAD_RELAXED); /* relaxed: an estimate */
    now = fadi_now_ns();
    leaf_ns = (now - p->timed_at) / done + 1;
    p->timed_from = p->cursor;
    p->timed_at = now;
    return leaf_ns;
}

/* Looks at the clock, and offers if others have nothing to do, or if leaves take so long that somebody soon will have. */
static void consider(struct piece *p)
{
    uint64_t leaf_ns = p->quiet ? leaf_of_beginning(p) : leaf_since_last_look(p);
    if (p->quiet)
        return;
    FAD_STORE(&p->fold->leaf_ns, leaf_ns, FAD_RELAXED); /* relaxed: an estimate */
    if (leaf_ns >= OFFER_NS || (leaf_ns && fadi_hungry(p->w)))
        offer_siblings(p, (fadi_anyone_awake(p->w) ? OFFER_NS : WAKE_NS) / leaf_ns + 1);
    p->check = p->cursor + (leaf_ns ? OFFER_NS / leaf_ns : 0) + 1;
}

/* When to think about offers for the first time: at once in a piece that was taken from somebody, after a leaf in a fold
 * that begins, never where nobody can take anything. */
static void plan_offers(struct piece *p)
{
    struct fadi_fold *f = p->fold;
    p->check = SIZE_MAX;
    if (!f->core || fadi_core_threads(f->core) == 0 || p->end - p->lo < 2)
        return;
    p->timed_from = p->check = p->cursor;
    p->quiet = p->lo == 0 && !f->grain;
    if (p->quiet) {
        p->timed_at = fadi_ticks();
        p->check = 1;
    } else {
        p->timed_at = fadi_now_ns();
    }
}

static void think_about_offers(struct piece *p)
{
    if (!p->fold->grain) {
        consider(p);
        return;
    }
    offer_siblings(p, p->fold->grain);
    p->check = p->cursor + 1;
}

/* ---- the piece ---- */

/* Takes the youngest offer back; false: there is none. */
static bool next_offer(struct piece *p)
{
    struct offer *o;
    if (p->offers == 0)
        return false;
    o = &p->offer[--p->offers];
    p->end = o->hi;
    if (fad_reclaim(&p->w->deque.pub, &o->task)) {
        give_acc(p, o->acc);
        return true;
    }
    p->dead |= o->task.status != 0;
    if (o->task.status < 0) /* FAD_EFORKED: nobody will finish it; fadi_with_worker tells */
        fadi_fold_fail(p->fold, p->fold->first + o->lo * p->fold->leaf_size, o->task.status, false);
    push(p, o->acc, o->hi - o->lo);
    p->cursor = p->end;
    if (p->check != SIZE_MAX) { /* the clock ran while this worker helped others */
        p->timed_from = p->check = p->cursor;
        p->timed_at = fadi_now_ns();
    }
    return true;
}

bool fadi_piece_run(struct fadi_worker *w, struct fadi_fold *f, size_t lo, size_t hi, void *acc)
{
    struct piece p = {.fold = f, .w = w, .lo = lo, .cursor = lo, .end = hi};
    size_t mark = fadi_scratch_mark(&w->scratch);
    if (!piece_init(&p, acc)) {
        fadi_fold_fail(f, f->first + lo * f->leaf_size, FAD_ENOMEM, false);
        return false;
    }
    plan_offers(&p);
    do
        while (p.cursor < p.end) {
            if (p.cursor >= p.check && !p.dead)
                think_about_offers(&p);
            fold_leaf(&p);
        }
    while (next_offer(&p));
    if (!p.dead)
        combine_all(&p);
    fadi_scratch_release(&w->scratch, mark);
    return !p.dead;
}
