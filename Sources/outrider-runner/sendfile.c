#include "sendfile.h"

#include <unistd.h>

enum { most_at_once = 64 << 10 };

static ssize_t copy(int out, int in, off64_t *offset, size_t count) {
    char buffer[most_at_once];
    size_t wanted = count < sizeof buffer ? count : sizeof buffer;
    ssize_t got = offset ? pread64(in, buffer, wanted, *offset) : read(in, buffer, wanted);
    if (got <= 0) return got;
    ssize_t written = 0;
    while (written < got) {
        ssize_t count_now = write(out, buffer + written, (size_t)(got - written));
        if (count_now < 0) {
            if (written == 0) {
                if (!offset) lseek64(in, -got, SEEK_CUR);
                return -1;
            }
            break;
        }
        written += count_now;
    }
    // What was read and couldn't be written is there for the next call, as with the system's own.
    if (!offset && written < got) lseek64(in, written - got, SEEK_CUR);
    if (offset) *offset += written;
    return written;
}

ssize_t sendfile64(int out, int in, off64_t *offset, size_t count) { return copy(out, in, offset, count); }

// off_t has 64 bits on every machine that is supported.
ssize_t sendfile(int out, int in, off_t *offset, size_t count) { return copy(out, in, offset, count); }
