# Stress programs: -t threads -s seconds -r seed, exit 0, 1 or 77. stress/NAME.c is one program:
#     stress_programs += stress/NAME
# Other sources than its own file, and what it links with, are named below the list, as in tests/local.mk.
# "make check" runs each for one second, "make stress STRESS_SECONDS=60" for longer.
#
# They are linked with the sources of the library compiled once more, with the points of common/point.h, and with what
# stands behind the points.
noinst_LTLIBRARIES += libpoints.la libpointsad.la libstress.la
point_flags = -DFAD_STRESS_POINTS
libpoints_la_SOURCES = $(libbaseline_la_SOURCES)
libpoints_la_CPPFLAGS = $(AM_CPPFLAGS) $(point_flags)
libpoints_la_LIBTOOLFLAGS = --tag=disable-shared
libpointsad_la_SOURCES = $(libad_la_SOURCES)
libpointsad_la_CPPFLAGS = $(AM_CPPFLAGS) $(point_flags)
libpointsad_la_CFLAGS = $(libad_la_CFLAGS)
libpointsad_la_LIBTOOLFLAGS = --tag=disable-shared
libstress_la_SOURCES = stress/points.c stress/watch.c stress/pools.c stress/stress.h
libstress_la_CPPFLAGS = $(AM_CPPFLAGS) $(point_flags)
libstress_la_LIBTOOLFLAGS = --tag=disable-shared
libstress_la_LIBADD = libpointsad.la $(replay_libs) libpoints.la
stress_libs = libstress.la $(dependency_libs)

stress_programs =
stress_programs += stress/deque stress/join stress/sleep stress/callers stress/fold stress/nest stress/process
stress_deque_LDADD = $(stress_libs)
stress_join_LDADD = $(stress_libs)
stress_sleep_LDADD = $(stress_libs)
stress_callers_LDADD = $(stress_libs)
stress_fold_LDADD = $(stress_libs)
stress_nest_LDADD = $(stress_libs)
stress_process_LDADD = $(stress_libs)
stress_programs += stress/gradient
stress_gradient_SOURCES = stress/gradient.c $(random_sums) $(ad_support)
stress_gradient_LDADD = $(stress_libs)

# Compiled and run by scripts/check-model and check-mutations.
EXTRA_DIST += stress/model/harness.h stress/model/relacy.h stress/model/relacy.cc stress/model/genmc.c stress/model/mutations

check_PROGRAMS += $(stress_programs)
TESTS += $(stress_programs)

STRESS_SECONDS = 60
stress-programs: $(stress_programs)
stress: stress-programs
	@TEST_WRAPPER='$(TEST_WRAPPER)' $(SHELL) $(srcdir)/scripts/run-stress $(STRESS_SECONDS) $(stress_programs)
.PHONY: stress stress-programs
