/** @file fpenv.h  Rounding to nearest and subnormals on, for the length of a call; the caller's settings come back after it.
 * Exception masks and flags are left alone: who traps invalid operations goes on trapping them. */
#ifndef FADI_FPENV_H
#define FADI_FPENV_H

#include <stdint.h>

struct fadi_fp {
    uint64_t control;
};

#if defined(__x86_64__)
#include <xmmintrin.h>

/* Low half, MXCSR: bits 13-14 rounding, 15 flush to zero, 6 denormals are zero. High half, the control word of x87, which
 * long double uses and fesetround changes too: bits 10-11 rounding, 8-9 precision, where 3 is the full one. */
#define FADI_FP_MODE UINT64_C(0x00000f000000e040)
#define FADI_FP_NORMAL UINT64_C(0x0000030000000000)

static inline uint64_t fadi_fp_read(void)
{
    uint16_t x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    return (uint64_t)x87 << 32 | _mm_getcsr();
}
static inline void fadi_fp_write(uint64_t control)
{
    uint16_t x87 = (uint16_t)(control >> 32);
    __asm__ volatile("fldcw %0" : : "m"(x87) : "memory");
    _mm_setcsr((uint32_t)control);
}
#elif defined(__aarch64__)
/* FPCR: bits 22-23 rounding, 24 flush to zero, 25 default NaN, 19 FZ16, 1 and 0: AH, FIZ of newer processors */
#define FADI_FP_MODE UINT64_C(0x3c80003)
#define FADI_FP_NORMAL UINT64_C(0)

static inline uint64_t fadi_fp_read(void)
{
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}
static inline void fadi_fp_write(uint64_t control)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(control) : "memory");
}
#else
#error "libfoldad knows the floating-point control word of x86-64 and AArch64 only"
#endif

/** Reading the control word is cheap, writing it is not: it is written only where it differs. */
static inline struct fadi_fp fadi_fp_enter(void)
{
    struct fadi_fp saved = {fadi_fp_read()};
    if ((saved.control & FADI_FP_MODE) != FADI_FP_NORMAL)
        fadi_fp_write((saved.control & ~FADI_FP_MODE) | FADI_FP_NORMAL);
    return saved;
}

/** Also where a callback has changed the mode and left it so. */
static inline void fadi_fp_leave(struct fadi_fp saved)
{
    uint64_t now = fadi_fp_read();
    if ((now ^ saved.control) & FADI_FP_MODE)
        fadi_fp_write((now & ~FADI_FP_MODE) | (saved.control & FADI_FP_MODE));
}

#endif
