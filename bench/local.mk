# The benchmark: built and run by "make bench" only.
