/** @file real.h  Numbers that may carry derivatives, the operations on them, and the tape that records them.
 *
 *     fad_tape *t = fad_tape_create();
 *     fad_real x = fad_input(t, 2), y = fad_mul(t, x, fad_exp(t, fad_neg(t, x)));
 *     int rc = fad_tape_reverse(t, y, 1, 1, &x, &slope);       // slope = dy/dx; the value is fad_value(t, y)
 *     fad_tape_destroy(t);
 *
 * Operands are fad_reals or any arithmetic type, which counts as a constant. Operations on constants alone record
 * nothing and are plain arithmetic, so one function serves passes with and without derivatives. In C the operands of a
 * call are evaluated from left to right, and a parenthesised name, (fad_mul), is the function behind the macro. In C++
 * the compiler chooses the order in which two nested calls are recorded.
 *
 * Numerics (all operations): the same bits on every machine and on every path. Elementary functions are within 1 ulp
 *   on normal results (erfc 1.5; log1pexp 2; sinh and cosh beyond 709: 3; lgamma of negative arguments 1e-15 absolute).
 *   max and min are comparisons, see there. Derivatives at kinks: abs at 0 has 0, a tie of max or min gives one half to
 *   each, hypot, norm2 and atan2 at the origin 0, sqrt and cbrt at 0 +inf. An adjoint of exactly 0 is not multiplied by anything: 0 * sqrt(x) has the derivative 0 at x = 0,
 *   and nothing comes back from the branch that fad_select did not take. Derivatives with respect to constants are not
 *   computed and raise no exceptions.
 * Errors (all operations): an operand of another tape or of an earlier recording sets the tape's error to FAD_EHANDLE, no
 *   memory to FAD_ENOMEM, more than about 2^32 operations to FAD_EOVERFLOW, fad_fail to the user's code. From then on
 *   every operation that would record returns a constant NaN, and the next call that returns a status returns the error.
 * Threads (all operations): a tape is used by one thread at a time; there is no hidden state. */
#ifndef FOLDAD_REAL_H
#define FOLDAD_REAL_H

#include <foldad/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A value, and where it was recorded: as which operation, and in which recording. Copied freely; a constant has stamp 0
 * and id 0. */
typedef struct fad_real {
    double value;
    uint32_t id;
    uint32_t stamp;
} fad_real;

/** The outcome of a comparison: an operand of fad_select and of fad_and, fad_or, fad_not, and of nothing else. */
typedef struct fad_mask {
    uint32_t holds;
    uint32_t reserved;
    uint32_t id;
    uint32_t stamp;
} fad_mask;

typedef struct fad_tape fad_tape; /**< opaque, apart from what the fast path below needs */

/** A place in a recording, to come back to. */
struct fad_mark {
    uint64_t next, words;
    uint32_t stamp, reserved;
};

/* ---- Tapes ---- */

/** An empty tape; NULL without memory, or on an x86-64 processor without AVX2 and FMA.
 * Ownership: the caller destroys it */
FAD_API fad_tape *fad_tape_create(void);

/** Frees a tape and what fad_alloc gave; NULL does nothing.
 * Errors:    FAD_EBUSY: the tape is not the caller's: a sum handed it to a term */
FAD_API int fad_tape_destroy(fad_tape *t);

/** Where the recording is now. */
FAD_API struct fad_mark fad_tape_mark(const fad_tape *t);

/** Forgets what was recorded after the mark; NULL: everything, and also the error and the memory of fad_alloc.
 * With NULL all handles become those of an earlier recording. With a mark the ones recorded after it do so only when their
 * places are overwritten: they must not be used.
 * Errors:    FAD_EHANDLE (a mark of another tape or of an earlier recording, or one that a rewind has gone behind), FAD_EBUSY
 *            (a term's tape), FAD_EINVAL (NULL tape); with a mark, the tape's error */
FAD_API int fad_tape_rewind(fad_tape *t, const struct fad_mark *mark);

/** A new independent variable with value v; a constant NaN when that is impossible. */
FAD_API fad_real fad_input(fad_tape *t, double v);

/** gradient[i] = seed * dy/d inputs[i]. May be repeated, gives the same again, and more can be recorded after it.
 * Shapes:    inputs[n]: any handles of this recording, intermediate results too; 0 for constants
 * Numerics:  rounding to nearest; never -0, and one NaN
 * Cost:      about 1 to 2 ns for each operation recorded before y
 * Errors:    the tape's error, FAD_EHANDLE, FAD_EINVAL (NULL), FAD_EBUSY (a term's tape); gradient untouched */
FAD_API int fad_tape_reverse(fad_tape *t, fad_real y, double seed, size_t n, const fad_real *inputs, double *gradient);

/** tangent[d] = sum over i of dy/d inputs[i] * seeds[d][i]: forward mode, several directions from one recording. May be
 * repeated, and more can be recorded after it.
 * Shapes:    inputs[n]: any handles of this recording, intermediate results too; constants count as 0; seeds[directions][n],
 *            tangent[directions]
 * Numerics:  as fad_tape_reverse; a partial derivative of 0 times an infinite tangent is 0, and a tangent of 0 times an
 *            infinite partial derivative too
 * Cost:      about 1 to 2 ns for each operation recorded before y, for each direction
 * Errors:    as fad_tape_reverse; tangent untouched */
FAD_API int fad_tape_forward(fad_tape *t, fad_real y, size_t directions, size_t n, const fad_real *inputs,
                             const double *seeds, double *tangent);

/** A hash of the recording: for every operation in order its operands and partial derivatives (any NaN counts as the
 * same one); on a traced tape also its kind and value. Equal recordings have equal digests on every machine.
 * Cost:      linear in the recording; 0 for NULL */
FAD_API uint64_t fad_tape_digest(const fad_tape *t);

/** Whether a tape also keeps the kind and value of each operation, at some cost in time.
 * Errors:    FAD_EBUSY (the tape is not empty, or a term's), FAD_EINVAL (NULL), the tape's error */
FAD_API int fad_tape_trace(fad_tape *t, bool on);

/** The tape's error: 0, a fad_status or the code given to fad_fail; FAD_EINVAL for NULL. */
FAD_API int fad_tape_error(const fad_tape *t);

/** Makes the recording fail with the user's code (positive; others count as FAD_EINVAL). The first error stays. */
FAD_API void fad_fail(fad_tape *t, int code);

/** Room for n fad_reals, not initialised, until the tape is rewound completely or, in a term, until the term returns.
 * n == 0 gives a valid pointer. When memory is out the tape has an error and the result may be NULL. */
FAD_API fad_real *fad_alloc(fad_tape *t, size_t n);

/** How many values of its own the element has, inside a term; else 0. */
FAD_API size_t fad_element_count(const fad_tape *t);

/* ---- The fast path. The fields are not for use by programs. ---- */

/** One operation: its result's adjoint w goes to a0 with w * p0 and to a1 with w * p1. An operand that is absent or
 * constant is the node itself, and its partial is not looked at. UINT32_MAX in a1: operands are elsewhere. */
struct fad_node {
    double p0, p1;
    uint32_t a0, a1;
};

/** The part of a tape that inline code uses. The types are chosen so that stores to nodes and fad_reals cannot alias
 * next, limit and nodes: the compiler may keep these in registers.
 * Of the bits of a good operand's stamp none is outside the tape's own stamp: constants have 0, shared parameters of the
 * sum that the tape works for have some of its bits, its own results have all. No two recordings and no two sums have
 * stamps of which one lies inside the other. */
struct fad_tape {
    uint64_t next;    /* the id that the next operation gets */
    uint64_t limit;   /* at this id the out-of-line half is called; 0: always */
    uintptr_t nodes;  /* address that a node with id 0 would have */
    uint32_t stamp;   /* of this recording */
    uint32_t foreign; /* the other bits */
};

/** Kinds of operations that are recorded inline. */
enum fad_inline_op { FAD_OP_ADD = 1, FAD_OP_SUB, FAD_OP_MUL, FAD_OP_DIV, FAD_OP_NEG, FAD_OP_SQUARE };

/** Out-of-line half of the inline operations: tape full, traced or in error, or a foreign operand. The operands come in
 * pieces because that costs the caller's fast path no packing. */
FAD_API fad_real fad_record(fad_tape *t, unsigned op, double a, uint32_t a_id, uint32_t a_stamp, double b, uint32_t b_id,
                            uint32_t b_stamp);

/** Kinds of comparisons, and of what combines them. */
enum fad_mask_op { FAD_OP_LT, FAD_OP_LE, FAD_OP_EQ, FAD_OP_AND, FAD_OP_OR, FAD_OP_NOT };

/** Out-of-line halves of fad_value, fad_data, the comparisons, their combinations and fad_select, for recordings that keep
 * all of these. */
FAD_API double fad_record_value(fad_tape *t, fad_real a);
FAD_API fad_real fad_record_data(fad_tape *t, const double *base, size_t stride, size_t k);
FAD_API fad_mask fad_record_compare(fad_tape *t, enum fad_mask_op op, fad_real a, fad_real b);
FAD_API fad_mask fad_record_combine(fad_tape *t, enum fad_mask_op op, fad_mask a, fad_mask b);
FAD_API fad_real fad_record_select(fad_tape *t, fad_mask m, fad_real a, fad_real b);

/** Keeps the user's compiler from contracting the product v with a sum into an fma, which would change bits. */
#if defined(__x86_64__)
#define FAD_ROUNDED(v) __asm__("" : "+x"(v))
#elif defined(__aarch64__)
#define FAD_ROUNDED(v) __asm__("" : "+w"(v))
#else
#define FAD_ROUNDED(v) __asm__("" : "+m"(v))
#endif

/** A constant. */
FAD_API inline fad_real fad_const(double v)
{
    fad_real r;
    r.value = v;
    r.id = 0;
    r.stamp = 0;
    return r;
}

/** What a fad_real is converted to, for the macros below. */
FAD_API inline fad_real fad_same(fad_real a)
{
    return a;
}

/** Not every operation is recorded inline: the tape is full, traced or in error. */
FAD_API inline bool fad_recorded(const fad_tape *t)
{
    return __builtin_expect(t != NULL && t->limit == 0, 0);
}

/** The plain number. A term whose operations depend on it is not uniform, so while a program is recorded this is an error. */
FAD_API inline double fad_value(fad_tape *t, fad_real a)
{
    return a.stamp && fad_recorded(t) ? fad_record_value(t, a) : a.value;
}

/** base[k * stride], as a constant of this element: what a term reads from user data that differs between elements. */
FAD_API inline fad_real fad_data(fad_tape *t, const double *base, size_t stride, size_t k)
{
    return fad_recorded(t) ? fad_record_data(t, base, stride, k) : fad_const(base[k * stride]);
}

/** Something cannot be recorded inline; stamps: those of all operands, or-ed. */
FAD_API inline bool fad_cold(const fad_tape *t, uint32_t stamps)
{
    return __builtin_expect(t == NULL || t->next >= t->limit || (stamps & t->foreign) != 0, 0);
}

/** Records one operation; room is there. */
FAD_API inline fad_real fad_push(fad_tape *t, double value, fad_real a, double p0, fad_real b, double p1)
{
    uint64_t next = t->next;
    uint32_t id = (uint32_t)next;
    struct fad_node *node = (struct fad_node *)(t->nodes + next * sizeof *node);
    fad_real r;
    node->p0 = p0;
    node->p1 = p1;
    node->a0 = a.stamp ? a.id : id;
    node->a1 = b.stamp ? b.id : id;
    t->next = next + 1;
    r.value = value;
    r.id = id;
    r.stamp = t->stamp;
    return r;
}

/* ---- Arithmetic ---- */

/** a + b */
FAD_API inline fad_real fad_add(fad_tape *t, fad_real a, fad_real b)
{
    double v = a.value + b.value;
    if ((a.stamp | b.stamp) == 0)
        return fad_const(v);
    if (fad_cold(t, a.stamp | b.stamp))
        return fad_record(t, FAD_OP_ADD, a.value, a.id, a.stamp, b.value, b.id, b.stamp);
    return fad_push(t, v, a, 1.0, b, 1.0);
}

/** a - b */
FAD_API inline fad_real fad_sub(fad_tape *t, fad_real a, fad_real b)
{
    double v = a.value - b.value;
    if ((a.stamp | b.stamp) == 0)
        return fad_const(v);
    if (fad_cold(t, a.stamp | b.stamp))
        return fad_record(t, FAD_OP_SUB, a.value, a.id, a.stamp, b.value, b.id, b.stamp);
    return fad_push(t, v, a, 1.0, b, -1.0);
}

/** a * b */
FAD_API inline fad_real fad_mul(fad_tape *t, fad_real a, fad_real b)
{
    double v = a.value * b.value;
    FAD_ROUNDED(v);
    if ((a.stamp | b.stamp) == 0)
        return fad_const(v);
    if (fad_cold(t, a.stamp | b.stamp))
        return fad_record(t, FAD_OP_MUL, a.value, a.id, a.stamp, b.value, b.id, b.stamp);
    return fad_push(t, v, a, b.value, b, a.value);
}

/** a / b */
FAD_API inline fad_real fad_div(fad_tape *t, fad_real a, fad_real b)
{
    double v = a.value / b.value;
    if ((a.stamp | b.stamp) == 0)
        return fad_const(v);
    if (fad_cold(t, a.stamp | b.stamp))
        return fad_record(t, FAD_OP_DIV, a.value, a.id, a.stamp, b.value, b.id, b.stamp);
    return fad_push(t, v, a, a.stamp ? 1.0 / b.value : 0.0, b, b.stamp ? -(v / b.value) : 0.0);
}

/** -a */
FAD_API inline fad_real fad_neg(fad_tape *t, fad_real a)
{
    fad_real none = fad_const(0.0);
    if (a.stamp == 0)
        return fad_const(-a.value);
    if (fad_cold(t, a.stamp))
        return fad_record(t, FAD_OP_NEG, a.value, a.id, a.stamp, 0.0, 0, 0);
    return fad_push(t, -a.value, a, -1.0, none, 0.0);
}

/** a * a */
FAD_API inline fad_real fad_square(fad_tape *t, fad_real a)
{
    double v = a.value * a.value;
    fad_real none = fad_const(0.0);
    FAD_ROUNDED(v);
    if (a.stamp == 0)
        return fad_const(v);
    if (fad_cold(t, a.stamp))
        return fad_record(t, FAD_OP_SQUARE, a.value, a.id, a.stamp, 0.0, 0, 0);
    return fad_push(t, v, a, 2.0 * a.value, none, 0.0);
}

/** a * b + c, rounded once */
FAD_API fad_real fad_fma(fad_tape *t, fad_real a, fad_real b, fad_real c);
/** 1 / a */
FAD_API fad_real fad_inv(fad_tape *t, fad_real a);
/** |a|; derivative 0 at 0 */
FAD_API fad_real fad_abs(fad_tape *t, fad_real a);
/** (a > b or a is NaN) ? a : b; at a == b one half of the derivative goes to each. So a NaN on either side comes
 * through, and of two zeros the second is taken. */
FAD_API fad_real fad_max(fad_tape *t, fad_real a, fad_real b);
/** (a < b or a is NaN) ? a : b; derivatives as in fad_max */
FAD_API fad_real fad_min(fad_tape *t, fad_real a, fad_real b);

/* ---- Elementary functions ---- */

/** Square root; derivative +inf at 0 */
FAD_API fad_real fad_sqrt(fad_tape *t, fad_real a);
/** Cube root; derivative +inf at 0 */
FAD_API fad_real fad_cbrt(fad_tape *t, fad_real a);
/** sqrt(a^2 + b^2) without undue overflow; derivatives 0 at (0, 0) */
FAD_API fad_real fad_hypot(fad_tape *t, fad_real a, fad_real b);
/** a^b. With respect to a: b a^(b-1), and 0 for b == 0; with respect to b: a^b log a for a > 0, else a^b * 0. */
FAD_API fad_real fad_pow(fad_tape *t, fad_real a, fad_real b);
/** e^a */
FAD_API fad_real fad_exp(fad_tape *t, fad_real a);
/** e^a - 1 */
FAD_API fad_real fad_expm1(fad_tape *t, fad_real a);
/** Natural logarithm */
FAD_API fad_real fad_log(fad_tape *t, fad_real a);
/** log(1 + a) */
FAD_API fad_real fad_log1p(fad_tape *t, fad_real a);
/** log(1 + e^a) without overflow or cancellation */
FAD_API fad_real fad_log1pexp(fad_tape *t, fad_real a);
FAD_API fad_real fad_sin(fad_tape *t, fad_real a);
FAD_API fad_real fad_cos(fad_tape *t, fad_real a);
FAD_API fad_real fad_tan(fad_tape *t, fad_real a);
FAD_API fad_real fad_asin(fad_tape *t, fad_real a);
FAD_API fad_real fad_acos(fad_tape *t, fad_real a);
FAD_API fad_real fad_atan(fad_tape *t, fad_real a);
/** The angle of the point (b, a), as in C: a is the ordinate; derivatives 0 at (0, 0) */
FAD_API fad_real fad_atan2(fad_tape *t, fad_real a, fad_real b);
FAD_API fad_real fad_sinh(fad_tape *t, fad_real a);
FAD_API fad_real fad_cosh(fad_tape *t, fad_real a);
FAD_API fad_real fad_tanh(fad_tape *t, fad_real a);
/** Error function */
FAD_API fad_real fad_erf(fad_tape *t, fad_real a);
/** 1 - erf(a), without cancellation */
FAD_API fad_real fad_erfc(fad_tape *t, fad_real a);
/** log |gamma(a)| */
FAD_API fad_real fad_lgamma(fad_tape *t, fad_real a);
/** gamma(a) */
FAD_API fad_real fad_tgamma(fad_tape *t, fad_real a);

/* ---- Comparisons and selection ---- */

FAD_API inline fad_mask fad_mask_of(bool holds)
{
    fad_mask m;
    m.holds = holds;
    m.reserved = 0;
    m.id = 0;
    m.stamp = 0;
    return m;
}

/** a < b; as all comparisons false if one is NaN */
FAD_API inline fad_mask fad_lt(fad_tape *t, fad_real a, fad_real b)
{
    if ((a.stamp | b.stamp) && fad_recorded(t))
        return fad_record_compare(t, FAD_OP_LT, a, b);
    return fad_mask_of(a.value < b.value);
}

/** a <= b */
FAD_API inline fad_mask fad_le(fad_tape *t, fad_real a, fad_real b)
{
    if ((a.stamp | b.stamp) && fad_recorded(t))
        return fad_record_compare(t, FAD_OP_LE, a, b);
    return fad_mask_of(a.value <= b.value);
}

/** a == b */
FAD_API inline fad_mask fad_eq(fad_tape *t, fad_real a, fad_real b)
{
    if ((a.stamp | b.stamp) && fad_recorded(t))
        return fad_record_compare(t, FAD_OP_EQ, a, b);
    return fad_mask_of(a.value == b.value);
}

/** Both hold */
FAD_API inline fad_mask fad_and(fad_tape *t, fad_mask a, fad_mask b)
{
    if (a.stamp | b.stamp)
        return fad_record_combine(t, FAD_OP_AND, a, b);
    return fad_mask_of(a.holds & b.holds);
}

/** At least one holds */
FAD_API inline fad_mask fad_or(fad_tape *t, fad_mask a, fad_mask b)
{
    if (a.stamp | b.stamp)
        return fad_record_combine(t, FAD_OP_OR, a, b);
    return fad_mask_of(a.holds | b.holds);
}

/** Does not hold */
FAD_API inline fad_mask fad_not(fad_tape *t, fad_mask a)
{
    if (a.stamp)
        return fad_record_combine(t, FAD_OP_NOT, a, a);
    return fad_mask_of(!a.holds);
}

/** m ? a : b. Both have been computed; no derivative flows to the one that is not taken, not even a NaN. */
FAD_API inline fad_real fad_select(fad_tape *t, fad_mask m, fad_real a, fad_real b)
{
    return m.stamp ? fad_record_select(t, m, a, b) : m.holds ? a : b;
}

/* ---- Operations on arrays ---- */

/** sum of a[i] * b[i].
 * Shapes:    a[n], b[n]; n == 0 gives 0
 * Numerics:  four chains of fma, element i in chain i mod 4, then (0 + 1) + (2 + 3)
 * Cost:      less than half of the same products and sums one by one, least if the ids of a or of b follow each other */
FAD_API fad_real fad_dot(fad_tape *t, size_t n, const fad_real *a, const fad_real *b);

/** fad_dot with plain numbers on the left; the same bits. */
FAD_API fad_real fad_dot_d(fad_tape *t, size_t n, const double *a, const fad_real *b);

/** sum of a[i].
 * Shapes:    a[n]; n == 0 gives 0
 * Numerics:  four chains, element i in chain i mod 4, then (0 + 1) + (2 + 3) */
FAD_API fad_real fad_sum_of(fad_tape *t, size_t n, const fad_real *a);

/** log of the sum of e^a[i], without overflow: the largest one is taken out.
 * Shapes:    a[n]; n == 0 gives -inf
 * Numerics:  all -inf: -inf, and derivatives 0; a +inf: +inf, and derivative 1 there (shared evenly by several), 0 elsewhere */
FAD_API fad_real fad_logsumexp(fad_tape *t, size_t n, const fad_real *a);

/** sqrt of the sum of a[i]^2, without undue overflow or underflow.
 * Shapes:    a[n]; n == 0 gives 0
 * Numerics:  derivatives 0 where all are 0 */
FAD_API fad_real fad_norm2(fad_tape *t, size_t n, const fad_real *a);

#ifdef __cplusplus
}

/* Numbers as operands. */
#define FAD_CXX_UNARY(f) \
    inline fad_real f(fad_tape *t, double a) { return f(t, fad_const(a)); }
#define FAD_CXX_BINARY(result, f) \
    inline result f(fad_tape *t, fad_real a, double b) { return f(t, a, fad_const(b)); } \
    inline result f(fad_tape *t, double a, fad_real b) { return f(t, fad_const(a), b); } \
    inline result f(fad_tape *t, double a, double b) { return f(t, fad_const(a), fad_const(b)); }
FAD_CXX_UNARY(fad_neg) FAD_CXX_UNARY(fad_square) FAD_CXX_UNARY(fad_inv) FAD_CXX_UNARY(fad_abs)
FAD_CXX_UNARY(fad_sqrt) FAD_CXX_UNARY(fad_cbrt) FAD_CXX_UNARY(fad_exp) FAD_CXX_UNARY(fad_expm1)
FAD_CXX_UNARY(fad_log) FAD_CXX_UNARY(fad_log1p) FAD_CXX_UNARY(fad_log1pexp) FAD_CXX_UNARY(fad_sin)
FAD_CXX_UNARY(fad_cos) FAD_CXX_UNARY(fad_tan) FAD_CXX_UNARY(fad_asin) FAD_CXX_UNARY(fad_acos)
FAD_CXX_UNARY(fad_atan) FAD_CXX_UNARY(fad_sinh) FAD_CXX_UNARY(fad_cosh) FAD_CXX_UNARY(fad_tanh)
FAD_CXX_UNARY(fad_erf) FAD_CXX_UNARY(fad_erfc) FAD_CXX_UNARY(fad_lgamma) FAD_CXX_UNARY(fad_tgamma)
FAD_CXX_BINARY(fad_real, fad_add) FAD_CXX_BINARY(fad_real, fad_sub) FAD_CXX_BINARY(fad_real, fad_mul)
FAD_CXX_BINARY(fad_real, fad_div) FAD_CXX_BINARY(fad_real, fad_pow) FAD_CXX_BINARY(fad_real, fad_hypot)
FAD_CXX_BINARY(fad_real, fad_atan2) FAD_CXX_BINARY(fad_real, fad_min) FAD_CXX_BINARY(fad_real, fad_max)
FAD_CXX_BINARY(fad_mask, fad_lt) FAD_CXX_BINARY(fad_mask, fad_le) FAD_CXX_BINARY(fad_mask, fad_eq)
#undef FAD_CXX_UNARY
#undef FAD_CXX_BINARY
inline double fad_value(fad_tape *, double a) { return a; }
/** Numbers and fad_reals alike, for the operations with three operands. */
namespace fad_operand {
    inline fad_real real(fad_real a) { return a; }
    inline fad_real real(double a) { return fad_const(a); }
}
template <class A, class B, class C> inline fad_real fad_fma(fad_tape *t, A a, B b, C c)
{
    return fad_fma(t, fad_operand::real(a), fad_operand::real(b), fad_operand::real(c));
}
template <class A, class B> inline fad_real fad_select(fad_tape *t, fad_mask m, A a, B b)
{
    return fad_select(t, m, fad_operand::real(a), fad_operand::real(b));
}

#else

/* Numbers as operands. Each operand is mentioned once, so that nested calls do not grow without bound, and evaluated in
 * order, so that the recording does not depend on the compiler; the numbered names keep -Wshadow quiet. */
#define FAD_REAL(v) _Generic((v), fad_real: fad_same, default: fad_const)(v)
#define FAD_UNARY(f, t, a) FAD_UNARY_AT(f, t, a, __COUNTER__)
#define FAD_UNARY_AT(f, t, a, n) FAD_UNARY_NAMED(f, t, a, n)
#define FAD_UNARY_NAMED(f, t, a, n) \
    __extension__({ __auto_type fad_a##n = (a); (f)((t), FAD_REAL(fad_a##n)); })
#define FAD_BINARY(f, t, a, b) FAD_BINARY_AT(f, t, a, b, __COUNTER__)
#define FAD_BINARY_AT(f, t, a, b, n) FAD_BINARY_NAMED(f, t, a, b, n)
#define FAD_BINARY_NAMED(f, t, a, b, n) \
    __extension__({ __auto_type fad_a##n = (a); __auto_type fad_b##n = (b); \
                    (f)((t), FAD_REAL(fad_a##n), FAD_REAL(fad_b##n)); })
#define FAD_TERNARY(f, t, a, b, c) FAD_TERNARY_AT(f, t, a, b, c, __COUNTER__)
#define FAD_TERNARY_AT(f, t, a, b, c, n) FAD_TERNARY_NAMED(f, t, a, b, c, n)
#define FAD_TERNARY_NAMED(f, t, a, b, c, n) \
    __extension__({ __auto_type fad_a##n = (a); __auto_type fad_b##n = (b); __auto_type fad_c##n = (c); \
                    (f)((t), FAD_REAL(fad_a##n), FAD_REAL(fad_b##n), FAD_REAL(fad_c##n)); })
#define FAD_SELECT(t, m, a, b) FAD_SELECT_AT(t, m, a, b, __COUNTER__)
#define FAD_SELECT_AT(t, m, a, b, n) FAD_SELECT_NAMED(t, m, a, b, n)
#define FAD_SELECT_NAMED(t, m, a, b, n) \
    __extension__({ fad_mask fad_m##n = (m); __auto_type fad_a##n = (a); __auto_type fad_b##n = (b); \
                    (fad_select)((t), fad_m##n, FAD_REAL(fad_a##n), FAD_REAL(fad_b##n)); })

#define fad_value(t, a) FAD_UNARY(fad_value, t, a)
#define fad_add(t, a, b) FAD_BINARY(fad_add, t, a, b)
#define fad_sub(t, a, b) FAD_BINARY(fad_sub, t, a, b)
#define fad_mul(t, a, b) FAD_BINARY(fad_mul, t, a, b)
#define fad_div(t, a, b) FAD_BINARY(fad_div, t, a, b)
#define fad_neg(t, a) FAD_UNARY(fad_neg, t, a)
#define fad_square(t, a) FAD_UNARY(fad_square, t, a)
#define fad_fma(t, a, b, c) FAD_TERNARY(fad_fma, t, a, b, c)
#define fad_inv(t, a) FAD_UNARY(fad_inv, t, a)
#define fad_abs(t, a) FAD_UNARY(fad_abs, t, a)
#define fad_max(t, a, b) FAD_BINARY(fad_max, t, a, b)
#define fad_min(t, a, b) FAD_BINARY(fad_min, t, a, b)
#define fad_sqrt(t, a) FAD_UNARY(fad_sqrt, t, a)
#define fad_cbrt(t, a) FAD_UNARY(fad_cbrt, t, a)
#define fad_hypot(t, a, b) FAD_BINARY(fad_hypot, t, a, b)
#define fad_pow(t, a, b) FAD_BINARY(fad_pow, t, a, b)
#define fad_exp(t, a) FAD_UNARY(fad_exp, t, a)
#define fad_expm1(t, a) FAD_UNARY(fad_expm1, t, a)
#define fad_log(t, a) FAD_UNARY(fad_log, t, a)
#define fad_log1p(t, a) FAD_UNARY(fad_log1p, t, a)
#define fad_log1pexp(t, a) FAD_UNARY(fad_log1pexp, t, a)
#define fad_sin(t, a) FAD_UNARY(fad_sin, t, a)
#define fad_cos(t, a) FAD_UNARY(fad_cos, t, a)
#define fad_tan(t, a) FAD_UNARY(fad_tan, t, a)
#define fad_asin(t, a) FAD_UNARY(fad_asin, t, a)
#define fad_acos(t, a) FAD_UNARY(fad_acos, t, a)
#define fad_atan(t, a) FAD_UNARY(fad_atan, t, a)
#define fad_atan2(t, a, b) FAD_BINARY(fad_atan2, t, a, b)
#define fad_sinh(t, a) FAD_UNARY(fad_sinh, t, a)
#define fad_cosh(t, a) FAD_UNARY(fad_cosh, t, a)
#define fad_tanh(t, a) FAD_UNARY(fad_tanh, t, a)
#define fad_erf(t, a) FAD_UNARY(fad_erf, t, a)
#define fad_erfc(t, a) FAD_UNARY(fad_erfc, t, a)
#define fad_lgamma(t, a) FAD_UNARY(fad_lgamma, t, a)
#define fad_tgamma(t, a) FAD_UNARY(fad_tgamma, t, a)
#define fad_lt(t, a, b) FAD_BINARY(fad_lt, t, a, b)
#define fad_le(t, a, b) FAD_BINARY(fad_le, t, a, b)
#define fad_eq(t, a, b) FAD_BINARY(fad_eq, t, a, b)
#define fad_select(t, m, a, b) FAD_SELECT(t, m, a, b)

#endif
#endif
