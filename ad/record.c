/** @file record.c  The out-of-line half of recording, and inputs. */
#include "ad/tape.h"

/* A full tape, a traced one, one in error, a foreign operand, or no tape at all. */
fad_real fadi_push_cold(fad_tape *tape, unsigned op, double v, fad_real a, double p0, fad_real b, double p1)
{
    struct fadi_tape *t = fadi_tape_of(tape);
    if (!t || fadi_tape_refuses(t) || t->error)
        return fadi_nan();
    if ((a.stamp | b.stamp) & tape->foreign) {
        fadi_tape_fail(t, FAD_EHANDLE);
        return fadi_nan();
    }
    if (t->recorder)
        return t->recorder->op(tape, op, v, (fad_real[]){a, b});
    int rc = fadi_tape_reserve(t, tape->next + 1);
    if (rc) {
        fadi_tape_fail(t, rc);
        return fadi_nan();
    }
    if (t->traced) {
        t->trace[tape->next - t->base].value = v;
        t->trace[tape->next - t->base].op = op;
    }
    return fad_push(tape, v, a, p0, b, p1);
}

fad_real fad_record(fad_tape *t, unsigned op, double av, uint32_t aid, uint32_t astamp, double bv, uint32_t bid,
                    uint32_t bstamp)
{
    fad_real a = {av, aid, astamp}, b = {bv, bid, bstamp};
    double x = av, y = bv, v;
    switch (op) {
#define UNARY(kind, name, V, P)                                                                               \
    case FADI_OP_##kind:                                                                                      \
        v = V;                                                                                                \
        return fadi_push_cold(t, op, v, a, P, b, 0.0);
#define BINARY(kind, name, V, P, Q)                                                                           \
    case FADI_OP_##kind:                                                                                      \
        v = V;                                                                                                \
        return fadi_push_cold(t, op, v, a, a.stamp ? P : 0.0, b, b.stamp ? Q : 0.0);
        FADI_UNARY_OPS(UNARY)
        FADI_BINARY_OPS(BINARY)
    default:
        return fadi_nan();
    }
}

fad_real fad_input(fad_tape *t, double v)
{
    fad_real none = fad_const(0.0);
    return fadi_push(t, FADI_OP_INPUT, v, none, 0.0, none, 0.0);
}

/* ---- What only recorders keep ---- */

/* The tape's recorder, if there is one that good operands may be given to. */
static const struct fadi_recorder *recorder_for(fad_tape *tape, uint32_t stamps)
{
    struct fadi_tape *t = fadi_tape_of(tape);
    if (!t || t->busy || t->error || !t->recorder)
        return NULL;
    if (stamps & tape->foreign) {
        fadi_tape_fail(t, FAD_EHANDLE);
        return NULL;
    }
    return t->recorder;
}

double fad_record_value(fad_tape *t, fad_real a)
{
    const struct fadi_recorder *r = recorder_for(t, a.stamp);
    return r && r->value ? r->value(t, a) : a.value;
}

fad_real fad_record_data(fad_tape *t, const double *base, size_t stride, size_t k)
{
    const struct fadi_recorder *r = recorder_for(t, 0);
    return r && r->data ? r->data(t, base, stride, k) : fad_const(base[k * stride]);
}

static bool compare(enum fad_mask_op op, double a, double b)
{
    return op == FAD_OP_LT ? a < b : op == FAD_OP_LE ? a <= b : a == b;
}

fad_mask fad_record_compare(fad_tape *t, enum fad_mask_op op, fad_real a, fad_real b)
{
    const struct fadi_recorder *r = recorder_for(t, a.stamp | b.stamp);
    return r && r->compare ? r->compare(t, op, a, b) : fad_mask_of(compare(op, a.value, b.value));
}

static bool combine(enum fad_mask_op op, bool a, bool b)
{
    return op == FAD_OP_AND ? a && b : op == FAD_OP_OR ? a || b : !a;
}

fad_mask fad_record_combine(fad_tape *t, enum fad_mask_op op, fad_mask a, fad_mask b)
{
    const struct fadi_recorder *r = recorder_for(t, a.stamp | b.stamp);
    return r && r->combine ? r->combine(t, op, a, b) : fad_mask_of(combine(op, a.holds, b.holds));
}

fad_real fad_record_select(fad_tape *t, fad_mask m, fad_real a, fad_real b)
{
    const struct fadi_recorder *r = recorder_for(t, m.stamp | a.stamp | b.stamp);
    return r && r->select ? r->select(t, m, a, b) : m.holds ? a : b;
}
