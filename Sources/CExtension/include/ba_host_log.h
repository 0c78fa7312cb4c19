/* The one thing that the module `os` asks of the host, in plain arguments: `os` must not import this module, because
   packages that find `os` with `#if canImport(os)` compile against it without this one's headers. */
#ifndef BA_HOST_LOG_H
#define BA_HOST_LOG_H

#include <stddef.h>
#include <stdint.h>

/* Hands a message to the current host. Returns 0 when there is none, so that the caller finds another place for it. */
int32_t ba_host_log(int32_t level, const char *subsystem, const char *category, const char *message, size_t length);

#endif
