# Examples, built with the library and not installed. examples/NAME.c is one program:
#     noinst_PROGRAMS += examples/NAME
