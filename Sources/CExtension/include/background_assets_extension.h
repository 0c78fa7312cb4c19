/*
 * background_assets_extension.h: what a downloader extension and its host say to each other.
 *
 * An extension is a shared object that exports one function, `background_assets_extension`. It returns a table of
 * entry points; each is optional and carries its signature in text, which the host checks before it calls anything.
 * The host never trusts what it gets: an unknown ABI version, a wrong signature or a struct that is too small ends the
 * load with a message that says both sides.
 *
 * Rules of the ABI:
 *   - every struct starts with its size in bytes, so that later versions can add members at the end;
 *   - strings are UTF-8, counted and borrowed: valid until the call returns, copied by the side that keeps them;
 *   - entry points are called one at a time, on the process's first thread; host callbacks may be called from any thread;
 *   - nothing in memory survives from one wake to the next: the end of the wake is the end of the process.
 *
 * Plain C, clean as C99 to C++17 with -pedantic.
 */
#ifndef BACKGROUND_ASSETS_EXTENSION_H
#define BACKGROUND_ASSETS_EXTENSION_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BA_ABI_VERSION 1u

#if defined(__GNUC__)
#define BA_EXPORT __attribute__((visibility("default")))
#else
#define BA_EXPORT
#endif

/* 0 is success; positive values are the raw values of BAErrorCode; negative ones are an extension's own. */
typedef int32_t ba_status;
#define BA_OK ((ba_status)0)
#define BA_CALL_FROM_EXTENSION_NOT_ALLOWED ((ba_status)50)
#define BA_CALLER_CONNECTION_NOT_ACCEPTED ((ba_status)55)
#define BA_CALLER_CONNECTION_INVALID ((ba_status)56)
#define BA_DOWNLOAD_ALREADY_SCHEDULED ((ba_status)100)
#define BA_DOWNLOAD_NOT_SCHEDULED ((ba_status)101)
#define BA_DOWNLOAD_FAILED_TO_START ((ba_status)102)
#define BA_DOWNLOAD_ESSENTIAL_NOT_PERMITTED ((ba_status)109)
#define BA_DOWNLOAD_DOES_NOT_EXIST ((ba_status)113)
#define BA_FAILED ((ba_status)-1)

/* Counted UTF-8, not necessarily NUL-terminated. */
typedef struct ba_string {
  const char *bytes;
  size_t length;
} ba_string;

static inline ba_string ba_text(const char *text) {
  ba_string string;
  string.bytes = text;
  string.length = text ? strlen(text) : 0;
  return string;
}

/* Why the host asks for downloads: the raw values of BAContentRequest. */
#define BA_REQUEST_INSTALL 1
#define BA_REQUEST_UPDATE 2
#define BA_REQUEST_PERIODIC 3
#define BA_REQUEST_LANGUAGE_CHANGE 4

#define BA_UNRESTRICTED ((int64_t)-1)

typedef struct ba_content_request {
  uint32_t size;
  int32_t kind;
  /* A read-only file; valid until content_request returns. */
  ba_string manifest_path;
  /* Bytes that may still be scheduled, or BA_UNRESTRICTED. */
  int64_t restricted_download_size_remaining;
  int64_t restricted_essential_download_size_remaining;
} ba_content_request;

/* ba_download.flags */
#define BA_DOWNLOAD_ESSENTIAL 1u
/* Set by the host: the download of the app's manifest. */
#define BA_DOWNLOAD_MANIFEST 2u
/* file_size isn't known beforehand. */
#define BA_DOWNLOAD_SIZE_UNKNOWN 4u

/* ba_download.priority */
#define BA_PRIORITY_MIN ((int64_t)-100)
#define BA_PRIORITY_DEFAULT ((int64_t)0)
#define BA_PRIORITY_MAX ((int64_t)100)

typedef struct ba_header {
  ba_string name;
  ba_string value;
} ba_header;

typedef struct ba_download {
  uint32_t size;
  uint32_t flags;
  ba_string identifier;
  /* A UUID. May be empty when an extension hands a download over: the host then gives one. */
  ba_string unique_identifier;
  ba_string url;
  /* Empty: GET. */
  ba_string http_method;
  /* Bytes, not text. */
  ba_string http_body;
  const ba_header *http_headers;
  size_t http_header_count;
  ba_string application_group_identifier;
  /* Exact transfer size in bytes, greater than zero unless BA_DOWNLOAD_SIZE_UNKNOWN is set. */
  int64_t file_size;
  int64_t priority;
  /* Set by the host: the raw value of BADownload.State. */
  int32_t state;
  uint32_t reserved;
} ba_download;

typedef struct ba_error {
  uint32_t size;
  uint32_t reserved;
  int64_t code;
  ba_string domain;
  ba_string description;
} ba_error;

typedef struct ba_challenge {
  uint32_t size;
  int32_t port;
  ba_string host;
  ba_string protocol;
  ba_string realm;
  /* One of the NSURLAuthenticationMethod… strings. */
  ba_string authentication_method;
  int64_t previous_failure_count;
} ba_challenge;

/* ba_challenge_answer.disposition: the raw values of URLSession.AuthChallengeDisposition. */
#define BA_USE_CREDENTIAL 0
#define BA_PERFORM_DEFAULT_HANDLING 1
#define BA_CANCEL_CHALLENGE 2
#define BA_REJECT_PROTECTION_SPACE 3

/* Filled in by the extension: NUL-terminated UTF-8. The host copies it when the entry point returns, and cancels the
   challenge where it is no such text, the disposition is unknown, or a credential comes with another status than 0. */
typedef struct ba_challenge_answer {
  uint32_t size;
  int32_t disposition;
  char user[256];
  char password[1024];
} ba_challenge_answer;

/* ba_host.log's level */
#define BA_LOG_DEBUG 0
#define BA_LOG_INFO 1
#define BA_LOG_DEFAULT 2
#define BA_LOG_ERROR 3
#define BA_LOG_FAULT 4

/* ba_delegate_event.kind */
#define BA_EVENT_BEGAN 1u
#define BA_EVENT_PAUSED 2u
#define BA_EVENT_PROGRESS 3u
#define BA_EVENT_CHALLENGE 4u
#define BA_EVENT_FAILED 5u
#define BA_EVENT_FINISHED 6u

/* What happened to a download, for an extension that observes. Members of other kinds are 0. */
typedef struct ba_delegate_event {
  uint32_t size;
  uint32_t kind;
  const ba_download *download;
  /* BA_EVENT_PROGRESS: bytes so far, and of the whole, -1 where that isn't known. */
  int64_t total_written;
  int64_t total_expected;
  /* BA_EVENT_CHALLENGE */
  const ba_challenge *challenge;
  ba_challenge_answer *answer;
  /* BA_EVENT_FAILED */
  const ba_error *error;
  /* BA_EVENT_FINISHED. The app's delegate is told of the same file: agree by exclusive control whose it is. */
  const char *path;
} ba_delegate_event;

/* What delegate_event returns for a challenge, a failure or a file that it leaves to the other entry points. */
#define BA_UNHANDLED ((ba_status)-2)

#define BA_NO_TIMEOUT ((int64_t)-1)

typedef struct ba_host ba_host;
typedef void (*ba_download_visitor)(void *context, const ba_download *download);

/* What an extension may ask of its host. Every callback may be called from any thread, blocks until the host has
   answered, and counts as the extension's own wall time. Check `size` before using a member added after version 1. */
struct ba_host {
  uint32_t size;
  uint32_t abi_version;
  void *context;
  ba_string bundle_identifier;
  ba_string bundle_path;

  void (*log)(const ba_host *host, int32_t level, ba_string subsystem, ba_string category, ba_string message);

  /* Adds a download to the answer of the content request that is running; only then. Fails with -1 elsewhere. */
  ba_status (*answer)(const ba_host *host, const ba_download *download);

  /* Queues a background download; not before content_request has returned (50), never an essential one (109). */
  ba_status (*schedule)(const ba_host *host, const ba_download *download);
  ba_status (*cancel)(const ba_host *host, ba_string identifier);
  /* Calls `visit` for each download that is current. A visitor returns: no longjmp and no exception leaves it. */
  ba_status (*current_downloads)(const ba_host *host, ba_download_visitor visit, void *context);

  /* The advisory lock between an app and its extension. Waits at most `timeout_nanoseconds` (0: try once,
     BA_NO_TIMEOUT: as long as it takes). Every acquisition that returns BA_OK is paired with one release. */
  ba_status (*acquire_exclusive_control)(const ba_host *host, int64_t timeout_nanoseconds);
  void (*release_exclusive_control)(const ba_host *host);

  /* Work that goes on after an entry point has returned (an asynchronous exclusive-control request): between the two
     the runner is neither frozen nor ended, and the call's clocks go on. While it waits for exclusive control in an
     activity, the call's wall clock stands still, for ten minutes of one run at most; in a content request it doesn't. */
  void (*begin_activity)(const ba_host *host);
  void (*end_activity)(const ba_host *host);

  /* Writes the container directory of an app group, NUL-terminated, and its length without the NUL. Returns 55 when
     the extension isn't a member of the group, -1 when the buffer is NULL or too small: `length` is then the capacity
     that is needed, with the NUL. */
  ba_status (*container_path)(const ba_host *host, ba_string group, char *buffer, size_t capacity, size_t *length);

  /* Whether the extension wants the events of all downloads of its app while it runs, scheduled by the app, the extension or the service: the entry
     point delegate_event gets them then, between the others. No event wakes an extension for its sake. */
  void (*observe)(const ba_host *host, int32_t is_observing);
};

/* The entry points. The status that one returns is reported; it doesn't end the wake. */
typedef ba_status (*ba_content_request_function)(const ba_host *host, const ba_content_request *request);
/* The file at `path` is deleted when this returns, unless it was moved away. */
typedef ba_status (*ba_download_finished_function)(const ba_host *host, const ba_download *download, const char *path);
typedef ba_status (*ba_download_failed_function)(const ba_host *host, const ba_download *download, const ba_error *error);
typedef ba_status (*ba_authentication_challenge_function)(const ba_host *host, const ba_download *download,
                                                          const ba_challenge *challenge, ba_challenge_answer *answer);
/* Advisory and deprecated: the extension is about to end. It may never be called. */
typedef void (*ba_will_terminate_function)(const ba_host *host);
/* After `observe`. BA_OK: it is done with; BA_UNHANDLED. A file that it leaves is offered to the others. */
typedef ba_status (*ba_delegate_event_function)(const ba_host *host, const ba_delegate_event *event);

#define BA_CONTENT_REQUEST "content_request"
#define BA_DOWNLOAD_FINISHED "download_finished"
#define BA_DOWNLOAD_FAILED "download_failed"
#define BA_AUTHENTICATION_CHALLENGE "authentication_challenge"
#define BA_WILL_TERMINATE "will_terminate"
#define BA_DELEGATE_EVENT "delegate_event"

/* RETURN(ARGUMENTS) in the words of `outrider call`. */
#define BA_CONTENT_REQUEST_SIGNATURE "i32(pointer,pointer)"
#define BA_DOWNLOAD_FINISHED_SIGNATURE "i32(pointer,pointer,cstring)"
#define BA_DOWNLOAD_FAILED_SIGNATURE "i32(pointer,pointer,pointer)"
#define BA_AUTHENTICATION_CHALLENGE_SIGNATURE "i32(pointer,pointer,pointer,pointer)"
#define BA_WILL_TERMINATE_SIGNATURE "void(pointer)"
#define BA_DELEGATE_EVENT_SIGNATURE "i32(pointer,pointer)"

typedef struct ba_entry_point {
  const char *name;
  const char *signature;
  void (*function)(void);
} ba_entry_point;

typedef struct ba_extension {
  uint32_t size;
  uint32_t abi_version;
  /* For people: shown by `outrider inspect`. */
  const char *name;
  const ba_entry_point *entry_points;
  size_t entry_point_count;
} ba_extension;

/*
 * The one symbol that an extension exports. `host_abi_version` is the newest version that the host speaks. The table
 * stays valid as long as the process lives. NULL: this extension can't work with that host.
 *
 *   static const ba_entry_point entries[] = {
 *     { BA_CONTENT_REQUEST, BA_CONTENT_REQUEST_SIGNATURE, (void (*)(void))content_request },
 *   };
 *   static const ba_extension extension = { sizeof extension, BA_ABI_VERSION, "catalog", entries, 1 };
 *   BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version) { … return &extension; }
 */
BA_EXPORT const ba_extension *background_assets_extension(uint32_t host_abi_version);

/* The symbol by which the runner knows an extension written in Swift: it calls the library's C `main`, which registers
   the `@main` type, before it asks for the table. Extensions in other languages don't export it. */
#define BA_SWIFT_MARKER "background_assets_swift_extension"

#ifdef __cplusplus
}
#endif

#endif
