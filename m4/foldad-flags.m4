# Compilers, their flags and the switches of configure.

# FAD_CHECK_CXX: C++ is for the header checks and for contenders of the benchmark; the library does without.
AC_DEFUN([FAD_CHECK_CXX], [
    AC_CACHE_CHECK([whether $CXX compiles C++17], [fad_cv_cxx17], [
        AC_LANG_PUSH([C++])
        fad_save_CXXFLAGS=$CXXFLAGS
        CXXFLAGS="$CXXFLAGS -std=c++17"
        AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <type_traits>]],
            [[static_assert(std::is_same_v<int, int>);]])],
            [fad_cv_cxx17=yes], [fad_cv_cxx17=no])
        CXXFLAGS=$fad_save_CXXFLAGS
        AC_LANG_POP([C++])
    ])
    # what the checks use; empty where there is none
    AS_IF([test "$fad_cv_cxx17" = yes], [CHECK_CXX=$CXX], [CHECK_CXX=])
    AC_SUBST([CHECK_CXX])
    AM_CONDITIONAL([HAVE_CXX], [test "$fad_cv_cxx17" = yes])
])

# FAD_CHECK_FLAGS: AD_CFLAGS are for the files of ad/ that run only after the processor has been asked.
AC_DEFUN([FAD_CHECK_FLAGS], [
    AD_CFLAGS=
    AS_CASE([$host_cpu],
        [x86_64], [
            AD_CFLAGS="-mavx2 -mfma"
            AC_CACHE_CHECK([whether $CC takes $AD_CFLAGS], [fad_cv_avx2], [
                fad_save_CFLAGS=$CFLAGS
                CFLAGS="$CFLAGS $AD_CFLAGS"
                AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <immintrin.h>]],
                    [[__m256d a = _mm256_setzero_pd(); a = _mm256_fmadd_pd(a, a, a); (void)a;]])],
                    [fad_cv_avx2=yes], [fad_cv_avx2=no])
                CFLAGS=$fad_save_CFLAGS
            ])
            AS_IF([test "$fad_cv_avx2" = no], [AC_MSG_ERROR([$CC does not take $AD_CFLAGS])])
        ],
        [aarch64], [],
        [AC_MSG_WARN([$host_cpu is not tested: x86_64 and aarch64 are])])
    AC_SUBST([AD_CFLAGS])
    AM_CONDITIONAL([X86_64], [test "$host_cpu" = x86_64])
    # for the benchmark's contenders, which run where they are built
    AS_IF([test "$cross_compiling" = yes], [NATIVE_CFLAGS=$AD_CFLAGS], [NATIVE_CFLAGS=-march=native])
    AC_SUBST([NATIVE_CFLAGS])
])

# FAD_NO(FEATURE, HEADER, TEXT): --disable-FEATURE; off too where the system has no HEADER.
AC_DEFUN([FAD_NO], [
    AC_ARG_ENABLE([$1], [AS_HELP_STRING([--disable-$1], [$3])], [], [enable_$1=yes])
    AS_IF([test "$enable_$1" != no], [AC_CHECK_HEADER([$2], [enable_$1=yes], [enable_$1=no])])
    AS_IF([test "$enable_$1" = no],
        [AC_DEFINE(AS_TR_CPP([FADI_NO_$1]), [1], [Define to do without $1.])])
])

AC_DEFUN([FAD_SWITCHES], [
    AC_SUBST([cross_compiling])
    AC_ARG_ENABLE([sanitizer], [AS_HELP_STRING([--enable-sanitizer=KIND],
        [build everything with a sanitizer: thread, address, undefined, address,undefined, or fuzzer, which is
         address,undefined for the targets of libFuzzer])],
        [], [enable_sanitizer=no])
    AS_CASE([$enable_sanitizer],
        [no], [SANITIZER_FLAGS=],
        [thread|address|undefined|address,undefined|undefined,address],
            [SANITIZER_FLAGS="-fsanitize=$enable_sanitizer -g -fno-omit-frame-pointer"],
        [fuzzer], [SANITIZER_FLAGS="-fsanitize=fuzzer-no-link,address,undefined -g -fno-omit-frame-pointer"],
        [AC_MSG_ERROR([--enable-sanitizer takes thread, address, undefined, address,undefined or fuzzer])])
    # Without this UBSan reports and carries on, and the test passes all the same.
    AS_CASE([$enable_sanitizer], [*undefined*|fuzzer], [SANITIZER_FLAGS="$SANITIZER_FLAGS -fno-sanitize-recover=undefined"])
    AS_IF([test -n "$SANITIZER_FLAGS"], [
        AC_MSG_CHECKING([whether $CC links with $SANITIZER_FLAGS])
        fad_save_CFLAGS=$CFLAGS
        CFLAGS="$CFLAGS $SANITIZER_FLAGS"
        AC_LINK_IFELSE([AC_LANG_PROGRAM], [AC_MSG_RESULT([yes])],
            [AC_MSG_RESULT([no])
             AC_MSG_ERROR([$CC cannot link with $SANITIZER_FLAGS (Debian, for clang: libclang-rt-dev)])])
        CFLAGS=$fad_save_CFLAGS
    ])
    AC_SUBST([SANITIZER_FLAGS])
    AM_CONDITIONAL([SANITIZER], [test -n "$SANITIZER_FLAGS"])
    AM_CONDITIONAL([FUZZER], [test "$enable_sanitizer" = fuzzer])

    FAD_NO([futex], [linux/futex.h], [sleep on a condition variable instead of a futex])
])

# FAD_LINKS_WITH(NAME, FLAG): sets fad_cv_link_name.
AC_DEFUN([FAD_LINKS_WITH], [
    AC_CACHE_CHECK([whether the linker takes $2], [fad_cv_link_$1], [
        fad_save_LDFLAGS=$LDFLAGS
        LDFLAGS="$LDFLAGS $2"
        AC_LINK_IFELSE([AC_LANG_PROGRAM], [fad_cv_link_$1=yes], [fad_cv_link_$1=no])
        LDFLAGS=$fad_save_LDFLAGS
    ])
])

# FAD_CHECK_LINKER: that of macOS has neither.
AC_DEFUN([FAD_CHECK_LINKER], [
    FAD_LINKS_WITH([as_needed], [-Wl,--as-needed])
    AS_IF([test "$fad_cv_link_as_needed" = yes], [AS_NEEDED=-Wl,--as-needed], [AS_NEEDED=])
    AC_SUBST([AS_NEEDED])
    # for tests that put functions of their own in the place of malloc and others
    FAD_LINKS_WITH([wrap], [-Wl,--wrap=malloc_of_nobody])
    AM_CONDITIONAL([HAVE_WRAP], [test "$fad_cv_link_wrap" = yes])
])
