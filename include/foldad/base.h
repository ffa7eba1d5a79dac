/** @file base.h  Status codes, failures, versions: what every other header stands on. */
#ifndef FOLDAD_BASE_H
#define FOLDAD_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __FAST_MATH__
#error "libfoldad gives the same bits everywhere; -ffast-math would break that: compile without it"
#endif

#if defined(__GNUC__)
#define FAD_API __attribute__((visibility("default")))
#else
#error "libfoldad needs gcc or clang"
#endif

#define FAD_VERSION_MAJOR 0
#define FAD_VERSION_MINOR 1
#define FAD_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/** What a call that can fail returns: 0, one of these, or the positive code of a user's callback.
 * The numbers never change. */
enum fad_status {
    FAD_OK = 0,
    FAD_EINVAL = -1,         /**< an argument or a field of a description is outside what is allowed */
    FAD_ENOMEM = -2,         /**< no memory */
    FAD_EOVERFLOW = -3,      /**< a size, such as n * size, does not fit */
    FAD_EBUSY = -4,          /**< the object is in use by a call that has not returned */
    FAD_EHANDLE = -5,        /**< a fad_real of another tape, or of an earlier recording */
    FAD_ETHREAD = -6,        /**< a thread could not be started */
    FAD_ESTACK = -7,         /**< too little stack is left to go one level deeper */
    FAD_EFORKED = -8,        /**< the process forked inside the call; this is the child */
    FAD_ESTALE = -9,         /**< what a program was recorded from has changed since */
    FAD_EDATADEPENDENT = -10,/**< the recording depends on the data, so it cannot be replayed */
    FAD_EUNSUPPORTED = -11   /**< this machine or this version cannot do it */
};

/** Which element failed, and how. Filled by the calls that take one, only when they fail. */
struct fad_failure {
    int status;         /**< what the call returned */
    size_t index;       /**< the lowest failing element; SIZE_MAX where no element is to blame */
    int code;           /**< what the callback returned or gave to fad_fail; 0 where no callback failed */
    const char *reason; /**< a sentence, static storage */
};

/** A short description of a status; positive codes are "error code of a callback".
 * Ownership: static storage
 * Threads:   any */
FAD_API const char *fad_strerror(int status);

#ifdef __cplusplus
}
#endif
#endif
