# Libraries that are needed, and libraries that tests and benchmarks use where they are there.

# FAD_REQUIRE(VARIABLE, PKG-CONFIG NAME, DEBIAN PACKAGE)
AC_DEFUN([FAD_REQUIRE], [
    PKG_CHECK_MODULES([$1], [$2], [],
        [AC_MSG_ERROR([$2 was not found by pkg-config (Debian: $3)])])
])

# FAD_OPTIONAL(NAME): what follows from have_name.
AC_DEFUN([FAD_OPTIONAL], [
    AM_CONDITIONAL([HAVE_$1], [test "$have_[]m4_tolower([$1])" = yes])
    AS_IF([test "$have_[]m4_tolower([$1])" = yes],
        [AC_DEFINE([HAVE_$1], [1], [Define if $1 is there, for tests and benchmarks.])])
])

AC_DEFUN([FAD_CHECK_CMOCKA], [
    PKG_CHECK_MODULES([CMOCKA], [cmocka], [have_cmocka=yes], [have_cmocka=no])
    FAD_OPTIONAL([CMOCKA])
])

# FAD_CHECK_SOLVERS: what examples/fit solves with. It is built where both are there.
AC_DEFUN([FAD_CHECK_SOLVERS], [
    PKG_CHECK_MODULES([GSL], [gsl >= 2.2], [have_gsl=yes], [have_gsl=no])
    PKG_CHECK_MODULES([NLOPT], [nlopt], [have_nlopt=yes], [have_nlopt=no])
    AM_CONDITIONAL([HAVE_FIT], [test "$have_gsl$have_nlopt" = yesyes])
])

# FAD_CXX_LINKS(NAME, HEADER LINES, BODY, CPPFLAGS, LIBS): sets have_name by linking a C++17 program.
AC_DEFUN([FAD_CXX_LINKS], [
    AC_CACHE_CHECK([for $1], [fad_cv_have_$1], [
        fad_cv_have_$1=no
        AS_IF([test "$fad_cv_cxx17" = yes], [
            AC_LANG_PUSH([C++])
            fad_save_CXXFLAGS=$CXXFLAGS fad_save_CPPFLAGS=$CPPFLAGS fad_save_LIBS=$LIBS
            CXXFLAGS="$CXXFLAGS -std=c++17" CPPFLAGS="$CPPFLAGS $4" LIBS="$5 $LIBS"
            AC_LINK_IFELSE([AC_LANG_PROGRAM([$2], [$3])], [fad_cv_have_$1=yes])
            CXXFLAGS=$fad_save_CXXFLAGS CPPFLAGS=$fad_save_CPPFLAGS LIBS=$fad_save_LIBS
            AC_LANG_POP([C++])
        ])
    ])
    have_$1=$fad_cv_have_$1
])

# FAD_CHECK_CONTENDERS: other libraries that the benchmark compares with.
AC_DEFUN([FAD_CHECK_CONTENDERS], [
    AC_OPENMP
    AS_IF([test "$enable_openmp" != no && test "${ac_cv_prog_c_openmp-unsupported}" != unsupported],
        [have_openmp=yes], [have_openmp=no])
    FAD_OPTIONAL([OPENMP])

    PKG_CHECK_MODULES([TBB], [tbb], [have_tbb=$fad_cv_cxx17], [have_tbb=no])
    FAD_OPTIONAL([TBB])

    AC_ARG_VAR([ADOLC_CPPFLAGS], [where ADOL-C's headers are])
    AC_ARG_VAR([ADOLC_LIBS], [how to link with ADOL-C (-ladolc)])
    : ${ADOLC_LIBS="-ladolc"}
    FAD_CXX_LINKS([adolc], [[#include <adolc/adolc.h>]], [[adouble a = 1.0; return a.value() < 0;]],
        [$ADOLC_CPPFLAGS], [$ADOLC_LIBS])
    FAD_OPTIONAL([ADOLC])

    # Sacado_trad.hpp is the reverse mode alone; Sacado.hpp would ask for an MPI as well.
    AC_ARG_VAR([SACADO_CPPFLAGS], [where Sacado_trad.hpp is (-isystem /usr/include/trilinos)])
    AC_ARG_VAR([SACADO_LIBS], [how to link with Sacado])
    : ${SACADO_CPPFLAGS="-isystem /usr/include/trilinos"}
    FAD_CXX_LINKS([sacado], [[#include <Sacado_trad.hpp>]],
        [[Sacado::Rad::ADvar<double> a(1.0); return a.val() < 0;]],
        [$SACADO_CPPFLAGS], [$SACADO_LIBS])
    FAD_OPTIONAL([SACADO])
])

AC_DEFUN([FAD_SUMMARY], [
    AS_ECHO(["
    $PACKAGE $VERSION for $host

    C compiler      $CC, CFLAGS: $CFLAGS
    C++ compiler    $CXX: $fad_cv_cxx17
    sanitizer       $enable_sanitizer
    futex           $enable_futex

    needed          liburcu-bp: yes    sleef: yes
    tests           cmocka: $have_cmocka
    examples/fit    gsl: $have_gsl    nlopt: $have_nlopt
    benchmark       openmp: $have_openmp    tbb: $have_tbb    adolc: $have_adolc    sacado: $have_sacado
"])
    AS_IF([test "$have_cmocka" = no], [AS_ECHO(["    Unit tests will be skipped (Debian: libcmocka-dev).
"])])
    AS_IF([test "$have_gsl$have_nlopt" != yesyes],
        [AS_ECHO(["    examples/fit will not be built (Debian: libgsl-dev libnlopt-dev).
"])])
])
