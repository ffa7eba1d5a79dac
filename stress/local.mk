# Stress programs: -t threads -s seconds -r seed, exit 0, 1 or 77. stress/NAME.c is one program:
#     stress_programs += stress/NAME
# Sources beside its own file as in tests/local.mk.
# "make check" runs each for one second, "make stress STRESS_SECONDS=60" for longer.
stress_programs =
stress_programs += stress/deque stress/fold
stress_programs += stress/gradient
stress_gradient_SOURCES = stress/gradient.c $(random_sums) $(ad_support)

EXTRA_DIST += stress/sched_stress.h

# Compiled and run by scripts/check-model.
EXTRA_DIST += stress/model/relacy.h stress/model/main.h stress/model/deque.cc stress/model/park.cc

check_PROGRAMS += $(stress_programs)
TESTS += $(stress_programs)

STRESS_SECONDS = 60
stress-programs: $(stress_programs)
stress: stress-programs
	@TEST_WRAPPER='$(TEST_WRAPPER)' $(SHELL) $(srcdir)/scripts/run-stress $(STRESS_SECONDS) $(stress_programs)
.PHONY: stress stress-programs
