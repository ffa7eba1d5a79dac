/** @file forward.c  The forward sweep: from the inputs' tangents to those of everything recorded.
 *
 * It reads what the reverse sweep reads, so one recording serves any number of directions and recording costs nothing more.
 * Tangents lie where adjoints do, in a row of the tape's, and zeros are left behind as every sweep does.
 *
 * Stopping: a product of a partial and a tangent is 0 if one of the two is 0. So where a gradient is finite because an
 * adjoint of 0 stopped, as that of 0 * sqrt(x) at 0, the tangent is the same number. */
#include "ad/second.h"
#include "common/fpenv.h"

#include <stdlib.h>
#include <string.h>

#define CHAINS 4u

/* One segment's sum, in chains as the operation's own value; NaN where a product has to be looked at. */
static double sum_segment(const union fadi_word *p, uint32_t first, uint32_t count, const double *tangents)
{
    double s[CHAINS] = {0, 0, 0, 0};
    const union fadi_word *ids = p + count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t id = first ? first + i : ids[i / 2].id[i % 2];
        s[i % CHAINS] = fma(p[i].partial, tangents[id], s[i % CHAINS]);
    }
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static double stop_segment(const union fadi_word *p, uint32_t first, uint32_t count, const double *tangents)
{
    double s = 0.0;
    const union fadi_word *ids = p + count;
    for (uint32_t i = 0; i < count; i++)
        s += fadi_stop(p[i].partial, tangents[first ? first + i : ids[i / 2].id[i % 2]]);
    return s;
}

/* The tangent of an operation on many. */
static double gather(const union fadi_word *p, const double *tangents)
{
    double sum = 0.0;
    uint32_t head;
    do {
        uint32_t first = p->head.first, count;
        head = p->head.count;
        count = head & ~FADI_SEGMENT_MORE;
        double s = sum_segment(p + 1, first, count, tangents);
        sum += s == s ? s : stop_segment(p + 1, first, count, tangents);
        p += 1 + count + (first ? 0 : (count + 1) / 2);
    } while (head & FADI_SEGMENT_MORE);
    return sum;
}

/* The tangent of an operation on values. */
static inline __attribute__((always_inline)) double push_forward(const struct fadi_tape *t, const struct fad_node *node,
                                                                 const double *tangents)
{
    if (__builtin_expect(node->a1 == FADI_NODE_MANY, 0))
        return gather(t->words + node->a0, tangents);
    double t0 = tangents[node->a0], t1 = tangents[node->a1];
    double sum = fma(node->p1, t1, node->p0 * t0);
    return __builtin_expect(sum == sum, 1) ? sum : fadi_stop(node->p0, t0) + fadi_stop(node->p1, t1);
}

/* What the user gives to results' tangents besides what comes from their operands. */
struct seeds {
    size_t n;
    const fad_real *inputs;
    const double *seed;
};

/* Adds the seeds of ids first .. last. */
static void plant(const struct seeds *s, uint64_t first, uint64_t last, double *tangents)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->inputs[i].stamp && s->inputs[i].id >= first && s->inputs[i].id <= last)
            tangents[s->inputs[i].id] += s->seed[i];
}

/* Runs a call's function, which writes the tangents of the results that follow the call: NaN where it does not. rc: of the
 * calls before it. */
static int run_call(struct fadi_tape *t, const struct fad_node *node, uint64_t id, double *tangents,
                    const struct seeds *seeds, bool sizes, int rc)
{
    union fadi_word *words = t->words + node->a0;
    const struct fadi_kind *kind = words[0].kind;
    size_t count = words[1].call.results;
    double *results = rc ? NULL : tangents + id + 1;
    if (rc && !kind->ends_forward)
        return rc;
    if (!kind->push_forward)
        return FAD_EUNSUPPORTED;
    for (size_t i = 0; results && i < count; i++)
        results[i] = (double)NAN;
    bool held = fadi_tape_hold(t);
    int pushed = (sizes && kind->push_sizes ? kind->push_sizes : kind->push_forward)(t, words + 2, tangents, results);
    int misuse = held ? fadi_tape_release(t) : FAD_OK;
    rc = rc ? rc : pushed ? pushed : misuse;
    if (!rc && seeds)
        plant(seeds, id + 1, id + count, tangents);
    return rc;
}

/* With seeds, every place holds the operation's; without, the places need not be zero. */
static inline __attribute__((always_inline)) int sweep(struct fadi_tape *t, uint64_t first, uint64_t last,
                                                       double *tangents, const struct seeds *seeds)
{
    const struct fad_node *node = t->nodes + (first - t->base);
    int rc = FAD_OK;
    t->sweep_last = last;
    for (uint64_t id = first; id <= last; id++, node++) {
        double seed = seeds ? tangents[id] : 0.0;
        if (__builtin_expect(node->a1 == FADI_NODE_CALL, 0)) {
            rc = run_call(t, node, id, tangents, seeds, false, rc);
        } else if (__builtin_expect(node->a1 != FADI_NODE_RESULT, 1)) {
            tangents[id] = 0.0; /* of an absent operand too, which is the operation itself */
            tangents[id] = seed + push_forward(t, node, tangents);
        }
    }
    return rc;
}

int fadi_sweep_forward(struct fadi_tape *t, uint64_t first, uint64_t last, double *tangents)
{
    return sweep(t, first, last, tangents, NULL);
}

/* The same for one operation, all in absolute values. */
static double size_forward(const struct fadi_tape *t, const struct fad_node *node, const double *sizes)
{
    if (node->a1 != FADI_NODE_MANY)
        return fadi_stop(fabs(node->p0), sizes[node->a0]) + fadi_stop(fabs(node->p1), sizes[node->a1]);
    const union fadi_word *p = t->words + node->a0;
    double sum = 0.0;
    uint32_t head;
    do {
        uint32_t first = p->head.first, count;
        head = p->head.count;
        count = head & ~FADI_SEGMENT_MORE;
        const union fadi_word *ids = p + 1 + count;
        for (uint32_t i = 0; i < count; i++)
            sum += fadi_stop(fabs(p[1 + i].partial), sizes[first ? first + i : ids[i / 2].id[i % 2]]);
        p += 1 + count + (first ? 0 : (count + 1) / 2);
    } while (head & FADI_SEGMENT_MORE);
    return sum;
}

int fadi_sweep_sizes(struct fadi_tape *t, uint64_t first, uint64_t last, double *sizes)
{
    const struct fad_node *node = t->nodes + (first - t->base);
    int rc = FAD_OK;
    t->sweep_last = last;
    for (uint64_t id = first; id <= last; id++, node++) {
        if (node->a1 == FADI_NODE_CALL) {
            rc = run_call(t, node, id, sizes, NULL, true, rc);
        } else if (node->a1 == FADI_NODE_RESULT) {
            sizes[id] = fabs(sizes[id]);
        } else {
            sizes[id] = 0.0;
            sizes[id] = size_forward(t, node, sizes);
        }
    }
    return rc;
}

/* y's tangent for one set of seeds. Leaves zeros behind. */
static int forward_once(struct fadi_tape *t, fad_real y, const struct seeds *seeds, double *tangent)
{
    plant(seeds, 0, t->head.next, t->adjoints);
    int rc = sweep(t, t->base, y.id, t->adjoints, seeds);
    *tangent = fadi_canonical(t->adjoints[y.id]);
    /* not only up to y: seeds may lie behind it, and call's results; also of operations that a rewind forgot */
    memset(t->adjoints, 0, (size_t)(t->head.next > t->dead_end ? t->head.next : t->dead_end) * sizeof *t->adjoints);
    return rc;
}

/* Built aside, because a call's function may fail. */
static int forward(struct fadi_tape *t, fad_real y, size_t directions, struct seeds *seeds, double *tangent)
{
    int rc = FAD_OK;
    double *built = directions > SIZE_MAX / sizeof *built ? NULL : malloc(directions * sizeof *built);
    if (!built)
        return directions ? FAD_ENOMEM : FAD_OK;
    struct fadi_fp fp = fadi_fp_enter();
    for (size_t d = 0; d < directions && !rc; d++) {
        rc = forward_once(t, y, seeds, built + d);
        seeds->seed += seeds->n;
    }
    fadi_fp_leave(fp);
    if (!rc)
        memcpy(tangent, built, directions * sizeof *built);
    free(built);
    return rc;
}

int fad_tape_forward(fad_tape *tape, fad_real y, size_t directions, size_t n, const fad_real *inputs,
                     const double *seeds, double *tangent)
{
    struct fadi_tape *t = fadi_tape_of(tape);
    struct seeds given = {n, inputs, seeds};
    if (!t || (n && directions && (!inputs || !seeds)) || (directions && !tangent))
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
    if (y.stamp)
        return forward(t, y, directions, &given, tangent);
    for (size_t d = 0; d < directions; d++)
        tangent[d] = 0.0;
    return FAD_OK;
}
