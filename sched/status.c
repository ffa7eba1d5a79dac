#include <foldad/base.h>

const char *fad_strerror(int status)
{
    static const char *const text[] = {
        "no error",
        "invalid argument",
        "no memory",
        "a size does not fit",
        "in use by a call that has not returned",
        "a value of another tape or of an earlier recording",
        "a thread could not be started",
        "too little stack left",
        "the process forked inside the call, this is the child",
        "what the program was recorded from has changed",
        "the recording depends on the data",
        "not supported by this machine or this version",
    };
    if (status > 0)
        return "error code of a callback";
    return status > -(int)(sizeof text / sizeof text[0]) ? text[-status] : "unknown status";
}
