# The derivatives. On x86-64 these files are compiled with AVX2 and FMA.
# One line a file: libad_la_SOURCES += ad/NAME.c
# Files that ask which processor this is (ad/cpu*.c) must run on any: libbaseline_la_SOURCES += ad/cpu.c
libad_la_SOURCES += ad/accumulate.c
libad_la_SOURCES += ad/apply.c
libad_la_SOURCES += ad/arena.c
libad_la_SOURCES += ad/branch.c
libad_la_SOURCES += ad/branch_sweep.c
libad_la_SOURCES += ad/describe.c
libad_la_SOURCES += ad/digest.c
libad_la_SOURCES += ad/check.c
libad_la_SOURCES += ad/dual.c
libad_la_SOURCES += ad/duals.c
libad_la_SOURCES += ad/forward.c
libad_la_SOURCES += ad/hvp.c
libad_la_SOURCES += ad/jvp.c
libad_la_SOURCES += ad/keep.c
libad_la_SOURCES += ad/math.c
libad_la_SOURCES += ad/nan.c
libad_la_SOURCES += ad/nary.c
libad_la_SOURCES += ad/node.c
libad_la_SOURCES += ad/ops.c
libad_la_SOURCES += ad/part.c
libad_la_SOURCES += ad/part_extremes.c
libad_la_SOURCES += ad/part_sums.c
libad_la_SOURCES += ad/record.c
libad_la_SOURCES += ad/reduce.c
libad_la_SOURCES += ad/reduce_apply.c
libad_la_SOURCES += ad/reduce_end.c
libad_la_SOURCES += ad/reduce_leaf.c
libad_la_SOURCES += ad/reduce_node.c
libad_la_SOURCES += ad/reverse.c
libad_la_SOURCES += ad/rules.c
libad_la_SOURCES += ad/rule.c
libad_la_SOURCES += ad/ruled.c
libad_la_SOURCES += ad/segment.c
libad_la_SOURCES += ad/second.c
libad_la_SOURCES += ad/second_sweep.c
libad_la_SOURCES += ad/stock.c
libad_la_SOURCES += ad/sum.c
libad_la_SOURCES += ad/tape.c
libad_la_SOURCES += ad/taped.c
libad_la_SOURCES += ad/branch.h ad/part.h ad/part_kind.h ad/reduce.h ad/segment.h
libad_la_SOURCES += ad/accumulate.h ad/apply.h ad/call.h ad/math.h ad/duals.h ad/op.h ad/rules.h ad/second.h ad/stock.h ad/tape.h
libbaseline_la_SOURCES += ad/cpu.c

# Programs.
libad_la_SOURCES += ad/program/block.c
libad_la_SOURCES += ad/program/capture.c
libad_la_SOURCES += ad/program/choose.c
libad_la_SOURCES += ad/program/chunk.c
libad_la_SOURCES += ad/program/form.c
libad_la_SOURCES += ad/program/forward.c
libad_la_SOURCES += ad/program/frame.c
libad_la_SOURCES += ad/program/graph.c
libad_la_SOURCES += ad/program/lower.c
libad_la_SOURCES += ad/program/partial.c
libad_la_SOURCES += ad/program/plan.c
libad_la_SOURCES += ad/program/primal.c
libad_la_SOURCES += ad/program/program.c
libad_la_SOURCES += ad/program/reverse.c
libad_la_SOURCES += ad/program/run.c
libad_la_SOURCES += ad/program/scalars.c
libad_la_SOURCES += ad/program/rows.c
libad_la_SOURCES += ad/program/select.c
libad_la_SOURCES += ad/program/slots.c
libad_la_SOURCES += ad/program/sums.c
libad_la_SOURCES += ad/program/uniform.c
libad_la_SOURCES += ad/program/value.c
libad_la_SOURCES += ad/program/block.h ad/program/columns.h ad/program/build.h ad/program/capture.h ad/program/code.h ad/program/graph.h ad/program/lanes.h ad/program/lower.h ad/program/part.h ad/program/program.h ad/program/replay.h ad/program/replay_rows.h ad/program/replay_sums.h ad/program/run.h ad/program/sums.h

# One executor, compiled for each width of vectors; ad/program/choose.c asks the processor.
noinst_LTLIBRARIES += libreplay_generic.la
libreplay_generic_la_SOURCES = ad/program/replay.c
libreplay_generic_la_CFLAGS = $(AM_CFLAGS) $(AD_CFLAGS) -DFADI_WIDTH=2
replay_libs = libreplay_generic.la
if X86_64
noinst_LTLIBRARIES += libreplay_avx2.la libreplay_avx512.la
libreplay_avx2_la_SOURCES = ad/program/replay.c
libreplay_avx2_la_CFLAGS = $(AM_CFLAGS) $(AD_CFLAGS) -DFADI_WIDTH=4
libreplay_avx512_la_SOURCES = ad/program/replay.c
libreplay_avx512_la_CFLAGS = $(AM_CFLAGS) $(AD_CFLAGS) -mavx512f -mavx512dq -mavx512vl -DFADI_WIDTH=8
replay_libs += libreplay_avx2.la libreplay_avx512.la
endif
libwhole_la_LIBADD += $(replay_libs)
