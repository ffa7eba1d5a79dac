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

/* The sweep, once for each setting of the two flags. keep leaves the adjoint of every operation where it was.
 * An operation whose adjoint is 0 is skipped: that is the rule of real.h that a zero adjoint stops. */
static inline __attribute__((always_inline)) void sweep(const struct fadi_tape *t, uint64_t first, uint64_t last,
                                                        double *adjoints, unsigned char *touched, bool keep)
{
    const struct fad_node *node = t->nodes + (last + 1 - t->base);
    for (uint64_t id = last; id >= first; id--) {
        double w = adjoints[id];
        node--;
        if (w == 0.0)
            continue;
        uint32_t a0 = node->a0, a1 = node->a1;
        if (__builtin_expect(a1 == FADI_NODE_MANY, 0)) {
            spread(t->words + a0, w, adjoints, touched);
        } else {
            adjoints[a0] = fma(w, node->p0, adjoints[a0]);
            adjoints[a1] = fma(w, node->p1, adjoints[a1]);
            if (touched) {
                touched[a0 / FADI_LINE] = 1;
                touched[a1 / FADI_LINE] = 1;
            }
        }
        adjoints[id] = keep ? w : 0.0; /* last: absent operands have used it as their place */
    }
}

void fadi_sweep(const struct fadi_tape *t, uint64_t first, uint64_t last, double *adjoints, unsigned char *touched)
{
    if (last < first)
        return;
    if (touched)
        sweep(t, first, last, adjoints, touched, false);
    else
        sweep(t, first, last, adjoints, NULL, false);
}

/* A handle that this recording still has. */
static bool alive(const fad_tape *t, fad_real a)
{
    return a.stamp == 0 || (!(a.stamp & t->foreign) && a.id < t->next);
}

int fad_tape_reverse(fad_tape *tape, fad_real y, double seed, size_t n, const fad_real *inputs, double *gradient)
{
    struct fadi_tape *t = fadi_tape_of(tape);
    if (!t || (n && (!inputs || !gradient)))
        return FAD_EINVAL;
    if (t->lent)
        return FAD_EBUSY;
    if (t->error)
        return t->error;
    bool known = alive(tape, y);
    for (size_t i = 0; i < n && known; i++)
        known = alive(tape, inputs[i]);
    if (!known)
        return FAD_EHANDLE;

    struct fadi_fp fp = fadi_fp_enter();
    if (y.stamp) {
        t->adjoints[y.id] = seed;
        sweep(t, t->base, y.id, t->adjoints, NULL, true);
    }
    for (size_t i = 0; i < n; i++)
        gradient[i] = inputs[i].stamp ? fadi_canonical(t->adjoints[inputs[i].id]) : 0.0;
    if (y.stamp) /* not only up to y: after a partial rewind a dead handle may have been used */
        memset(t->adjoints, 0, (size_t)(tape->next > t->dead_end ? tape->next : t->dead_end) * sizeof *t->adjoints);
    fadi_fp_leave(fp);
    return FAD_OK;
}
