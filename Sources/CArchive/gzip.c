#include "CArchive.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* libarchive has loaded zlib for its own filter; this is the same one. */
struct zlib {
    void *library;
    __typeof__(&inflateInit2_) initialize;
    __typeof__(&inflate) inflate;
    __typeof__(&inflateReset) reset;
    __typeof__(&inflateEnd) end;
};

static int load(struct zlib *zlib) {
    zlib->library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    if (zlib->library == NULL) return -1;
    zlib->initialize = (__typeof__(&inflateInit2_))dlsym(zlib->library, "inflateInit2_");
    zlib->inflate = (__typeof__(&inflate))dlsym(zlib->library, "inflate");
    zlib->reset = (__typeof__(&inflateReset))dlsym(zlib->library, "inflateReset");
    zlib->end = (__typeof__(&inflateEnd))dlsym(zlib->library, "inflateEnd");
    return zlib->initialize && zlib->inflate && zlib->reset && zlib->end ? 0 : -1;
}

static int is_member(const unsigned char *bytes, size_t count) { return count >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b; }

static const char *check(const struct zlib *zlib, z_stream *stream, int file, struct outrider_gzip_limits limits) {
    unsigned char packed[1 << 16], content[1 << 16];
    uint64_t read = 0, unpacked = 0;
    for (;;) {
        ssize_t count = pread(file, packed, sizeof packed, (off_t)read);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return strerror(errno);
        if (count == 0) return "it ends before its checksum";
        read += (uint64_t)count;
        stream->next_in = packed;
        stream->avail_in = (uInt)count;
        while (stream->avail_in > 0) {
            stream->next_out = content;
            stream->avail_out = sizeof content;
            int result = zlib->inflate(stream, Z_NO_FLUSH);
            unpacked += sizeof content - stream->avail_out;
            /* Whoever unpacks refuses it for that. */
            if (unpacked > limits.total || (unpacked > limits.free && unpacked / limits.ratio > read)) return NULL;
            if (result == Z_STREAM_END) {
                /* Another member, or what may follow the last one. Where the buffer ends between the two bytes of its mark, the
                   rest isn't looked at. */
                if (!is_member(stream->next_in, stream->avail_in)) {
                    unsigned char next[2];
                    if (stream->avail_in > 0 || pread(file, next, 2, (off_t)read) != 2 || !is_member(next, 2)) return NULL;
                }
                if (zlib->reset(stream) != Z_OK) return "no memory is left";
            } else if (result == Z_BUF_ERROR) {
                break;
            } else if (result != Z_OK) {
                return result == Z_MEM_ERROR ? "no memory is left" : stream->msg != NULL ? stream->msg : "it can't be read";
            }
        }
    }
}

const char *outrider_gzip_error(int file, struct outrider_gzip_limits limits) {
    unsigned char mark[2];
    if (pread(file, mark, sizeof mark, 0) != sizeof mark || !is_member(mark, sizeof mark)) return NULL;
    struct zlib zlib;
    if (load(&zlib) != 0) return "zlib can't be loaded, which checks it";
    z_stream stream = {0};
    /* 31: the largest window, and gzip's head and checksum. */
    if (zlib.initialize(&stream, 31, ZLIB_VERSION, (int)sizeof stream) != Z_OK) return "no memory is left";
    const char *error = check(&zlib, &stream, file, limits);
    zlib.end(&stream);
    return error;
}
