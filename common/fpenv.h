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

/* MXCSR: bits 13-14 rounding, 15 flush to zero, 6 denormals are zero */
#define FADI_FP_MODE UINT32_C(0xe040)

static inline uint64_t fadi_fp_read(void)
{
    return _mm_getcsr();
}
static inline void fadi_fp_write(uint64_t control)
{
    _mm_setcsr((uint32_t)control);
}
#elif defined(__aarch64__)
/* FPCR: bits 22-23 rounding, 24 flush to zero, 25 default NaN, 19 FZ16, 1 and 0: AH, FIZ of newer processors */
#define FADI_FP_MODE UINT64_C(0x3c80003)

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
    if (saved.control & FADI_FP_MODE)
        fadi_fp_write(saved.control & ~(uint64_t)FADI_FP_MODE);
    return saved;
}

static inline void fadi_fp_leave(struct fadi_fp saved)
{
    if (saved.control & FADI_FP_MODE)
        fadi_fp_write((fadi_fp_read() & ~(uint64_t)FADI_FP_MODE) | (saved.control & FADI_FP_MODE));
}

#endif
