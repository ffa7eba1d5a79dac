# Checks that are scripts. run-test is what "make check" runs every test by.
script_tests =
script_tests += scripts/check-headers
script_tests += scripts/check-layers
script_tests += scripts/check-symbols
script_tests += scripts/check-fences
script_tests += scripts/check-api
script_tests += scripts/check-install
script_tests += scripts/check-model
script_tests += scripts/check-mutations
script_tests += scripts/check-examples
script_tests += scripts/check-readme
TESTS += $(script_tests)
EXTRA_DIST += $(script_tests) scripts/common.sh scripts/mutate.awk scripts/run-test scripts/run-stress scripts/skip
# by hand; none of the tests
EXTRA_DIST += scripts/check-arm64 scripts/arm64-boot scripts/coverage scripts/coverage.justified

LOG_COMPILER = $(SHELL) $(srcdir)/scripts/run-test
# PKG_CONFIG_LIBDIR only where it was given: an empty one means no directory at all.
AM_TESTS_ENVIRONMENT = \
	test -z '$(PKG_CONFIG_LIBDIR)' || { PKG_CONFIG_LIBDIR='$(PKG_CONFIG_LIBDIR)'; export PKG_CONFIG_LIBDIR; }; \
	CC='$(CC)'; CXX='$(CHECK_CXX)'; MAKE='$(MAKE)'; NM='$(NM)'; OBJDUMP='$(OBJDUMP)'; PKG_CONFIG='$(PKG_CONFIG)'; \
	SANITIZER_FLAGS='$(SANITIZER_FLAGS)'; HOST_CPU='$(host_cpu)'; CROSS_COMPILING='$(cross_compiling)'; \
	TEST_WRAPPER='$(TEST_WRAPPER)'; EXAMPLE_SOURCES='$(examples_models_SOURCES)'; \
	export CC CXX MAKE NM OBJDUMP PKG_CONFIG SANITIZER_FLAGS HOST_CPU CROSS_COMPILING TEST_WRAPPER EXAMPLE_SOURCES;
