/** @file record.c  The out-of-line half of recording, and inputs. */
#include "ad/tape.h"

/* A full tape, a traced one, one in error, a foreign operand, or no tape at all. */
fad_real fadi_push_cold(fad_tape *tape, unsigned op, double v, fad_real a, double p0, fad_real b, double p1)
{
    struct fadi_tape *t = fadi_tape_of(tape);
    if (!t || t->error)
        return fadi_nan();
    if ((a.stamp | b.stamp) & tape->foreign) {
        fadi_tape_fail(t, FAD_EHANDLE);
        return fadi_nan();
    }
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
