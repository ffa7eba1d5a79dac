/** @file reverse.c  The reverse sweep. */
#include "ad/tape.h"
#include "common/fpenv.h"

#include <string.h>

/* adjoints[first + i] += w * p[i]; a fused operation as everywhere in a sweep, so that the two forms of a segment agree. */
static void add_run(double *restrict adjoints, const union fadi_word *restrict p, uint32_t count, double w)
{
    for (uint32_t i = 0; i < count; i++)
        adjoints[i] = fma(w, p[i].partial, adjoints[i]);
}

static void touch_run(unsigned char *touched, uint32_t first, uint32_t count)
{
    if (count)
        memset(touched + first / FADI_LINE, 1, (first + count - 1) / FADI_LINE - first / FADI_LINE + 1);
}

/* All segments of one operation. */
static void spread(const union fadi_word *p, double w, double *adjoints, unsigned char *touched)
{
    uint32_t head;
    do {
        uint32_t first = p->head.first, count;
        head = p->head.count;
        count = head & ~FADI_SEGMENT_MORE;
        p++;
        if (first) {
            add_run(adjoints + first, p, count, w);
            if (touched)
                touch_run(touched, first, count);
            p += count;
            continue;
        }
        const union fadi_word *ids = p + count;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t id = ids[i / 2].id[i % 2];
            adjoints[id] = fma(w, p[i].partial, adjoints[id]);
            if (touched)
                touched[id / FADI_LINE] = 1;
        }
        p = ids + (count + 1) / 2;
    } while (head & FADI_SEGMENT_MORE);
}

/* One sweep: where it is, and the adjoints of the operation and of the two before it. Most operands are one of these two:
 * kept in registers they do not wait for a store to be read back. The memory of all three is zero meanwhile. */
struct window {
    double w, w1, w2;
    int rc; /* of the calls so far */
};

static inline __attribute__((always_inline)) double take(double *place)
{
    double w = *place;
    *place = 0.0;
    return w;
}

/* Adds w * p to the adjoint of operand a of operation id; an absent operand is the operation itself. */
static inline __attribute__((always_inline)) void add_to(struct window *s, uint32_t id, uint32_t a, double p,
                                                         double *adjoints, unsigned char *touched)
{
    uint32_t distance = id - a;
    if (distance == 1) {
        s->w1 = fma(s->w, p, s->w1);
    } else if (distance == 2) {
        s->w2 = fma(s->w, p, s->w2);
    } else if (distance != 0) {
        adjoints[a] = fma(s->w, p, adjoints[a]);
        if (touched)
            touched[a / FADI_LINE] = 1;
    }
}

/* Runs a call's function, unless one has failed already, and leaves the adjoints of its results at zero. */
static int run_call(struct fadi_tape *t, const struct fad_node *node, uint64_t id, double *adjoints,
                    unsigned char *touched, int rc, bool keep)
{
    union fadi_word *words = t->words + node->a0;
    double *results = adjoints + id + 1;
    size_t count = words[1].call.results;
    if (rc == FAD_OK || words[0].kind->ends_back) {
        bool held = fadi_tape_hold(t);
        int pulled = words[0].kind->pull_back(t, words + 2, results, adjoints, touched);
        int misuse = held ? fadi_tape_release(t) : FAD_OK;
        rc = rc ? rc : pulled ? pulled : misuse;
    }
    if (!keep)
        memset(results, 0, count * sizeof *results);
    return rc;
}

/* An operation that is none of two operands. A result's adjoint stays in memory until the sweep comes to the call, whose own
 * adjoint says that there is one: in that way the call does not depend on which of its results are used. */
static int special(struct fadi_tape *t, const struct fad_node *node, uint64_t id, double w, double *adjoints,
                   unsigned char *touched, int rc, bool keep)
{
    if (node->a1 == FADI_NODE_CALL)
        return run_call(t, node, id, adjoints, touched, rc, keep);
    if (node->a1 == FADI_NODE_RESULT) {
        adjoints[id] = w;
        adjoints[id - node->a0 - 1] = 1.0;
    } else {
        spread(t->words + node->a0, w, adjoints, touched);
    }
    return rc;
}

/* All operands of operation id. Of an operation on many, each may be in the window. */
static inline __attribute__((always_inline)) void pull_back(struct fadi_tape *t, const struct fad_node *node,
                                                            struct window *s, uint64_t id, double *adjoints,
                                                            unsigned char *touched, bool keep)
{
    if (__builtin_expect(node->a1 >= FADI_NODE_RESULT, 0)) {
        adjoints[id - 1] = s->w1;
        adjoints[id - 2] = s->w2;
        s->rc = special(t, node, id, s->w, adjoints, touched, s->rc, keep);
        s->w1 = take(adjoints + id - 1);
        s->w2 = take(adjoints + id - 2);
        return;
    }
    add_to(s, (uint32_t)id, node->a0, node->p0, adjoints, touched);
    add_to(s, (uint32_t)id, node->a1, node->p1, adjoints, touched);
}

/* The sweep, once for each setting of the two flags. keep leaves the adjoint of every operation where it was.
 * An operation whose adjoint is 0 is skipped: that is the rule of real.h that a zero adjoint stops.
 * Two places before `first` are read and written back; those before base are nobody's, see FADI_FIRST_ID. */
static inline __attribute__((always_inline)) int sweep(struct fadi_tape *t, uint64_t first, uint64_t last,
                                                       double *adjoints, unsigned char *touched, bool keep)
{
    const struct fad_node *node = t->nodes + (last - t->base);
    struct window s = {take(adjoints + last), take(adjoints + last - 1), 0.0, FAD_OK};
    uint64_t id = last;
    for (; id >= first; id--, node--) {
        s.w2 = take(adjoints + id - 2);
        if (s.w != 0.0)
            pull_back(t, node, &s, id, adjoints, touched, keep);
        if (keep)
            adjoints[id] = s.w;
        s.w = s.w1;
        s.w1 = s.w2;
    }
    adjoints[id] = s.w;
    adjoints[id - 1] = s.w1;
    return s.rc;
}

int fadi_sweep(struct fadi_tape *t, uint64_t first, uint64_t last, double *adjoints, unsigned char *touched)
{
    if (last < first)
        return FAD_OK;
    return touched ? sweep(t, first, last, adjoints, touched, false) : sweep(t, first, last, adjoints, NULL, false);
}

int fad_tape_reverse(fad_tape *tape, fad_real y, double seed, size_t n, const fad_real *inputs, double *gradient)
{
    struct fadi_tape *t = fadi_tape_of(tape);
    if (!t || (n && (!inputs || !gradient)))
        return FAD_EINVAL;
    if (t->lent || t->busy)
        return FAD_EBUSY;
    if (t->error)
        return t->error;
    bool known = fadi_known(t, y);
    for (size_t i = 0; i < n && known; i++)
        known = fadi_known(t, inputs[i]);
    if (!known)
        return FAD_EHANDLE;

    struct fadi_fp fp = fadi_fp_enter();
    int rc = FAD_OK;
    if (y.stamp) {
        t->adjoints[y.id] = seed;
        rc = sweep(t, t->base, y.id, t->adjoints, NULL, true);
    }
    for (size_t i = 0; i < n && !rc; i++)
        gradient[i] = inputs[i].stamp ? fadi_canonical(t->adjoints[inputs[i].id]) : 0.0;
    if (y.stamp) /* not only up to y: after a partial rewind a dead handle may have been used */
        memset(t->adjoints, 0, (size_t)(tape->next > t->dead_end ? tape->next : t->dead_end) * sizeof *t->adjoints);
    fadi_fp_leave(fp);
    return rc;
}
