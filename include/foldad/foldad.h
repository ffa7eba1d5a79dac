/** @file foldad.h  Everything. */
#ifndef FOLDAD_FOLDAD_H
#define FOLDAD_FOLDAD_H
#include <foldad/base.h>
#include <foldad/branch.h>
#include <foldad/check.h>
#include <foldad/dual.h>
#include <foldad/fold.h>
#include <foldad/pool.h>
#include <foldad/program.h>
#include <foldad/real.h>
#include <foldad/rule.h>
#include <foldad/reduce.h>
#include <foldad/sum.h>
#endif
