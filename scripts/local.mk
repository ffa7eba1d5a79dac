# Checks that are scripts. run-test is what "make check" runs every test by.
EXTRA_DIST += scripts/run-test scripts/run-stress scripts/skip

LOG_COMPILER = $(SHELL) $(srcdir)/scripts/run-test
AM_TESTS_ENVIRONMENT = TEST_WRAPPER='$(TEST_WRAPPER)'; export TEST_WRAPPER;
