/** @file choose.c  Which executor is the fastest on this machine. */
#include "ad/program/code.h"

fadi_replay *fadi_replay_choose(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return fadi_replay_avx512;
    return fadi_replay_avx2; /* the library asks for it before it runs anything of this */
#else
    return fadi_replay_generic;
#endif
}
