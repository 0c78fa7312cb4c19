#ifndef OUTRIDER_CURL_H
#define OUTRIDER_CURL_H

#include <curl/curl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

// curl_easy_setopt and its kin take variable arguments, which Swift can't call: one typed setter for each kind.
static inline CURLcode oc_set_long(CURL *easy, CURLoption option, long value) { return curl_easy_setopt(easy, option, value); }
static inline CURLcode oc_set_offset(CURL *easy, CURLoption option, int64_t value) {
    return curl_easy_setopt(easy, option, (curl_off_t)value);
}
// A null pointer unsets.
static inline CURLcode oc_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode oc_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}
static inline CURLcode oc_set_url(CURL *easy, CURLU *value) {
    return curl_easy_setopt(easy, CURLOPT_CURLU, value);
}
static inline CURLcode oc_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}
// Copied: the caller's bytes may go.
static inline CURLcode oc_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
    return curl_easy_setopt(easy, option, &blob);
}
typedef size_t (*oc_data_callback)(char *bytes, size_t size, size_t count, void *context);
typedef curl_socket_t (*oc_open_callback)(void *context, curlsocktype purpose, struct curl_sockaddr *address);
typedef int (*oc_socket_callback)(void *context, curl_socket_t socket, curlsocktype purpose);
typedef int (*oc_prerequest_callback)(void *context, char *remote, char *local, int remote_port, int local_port);

static inline CURLcode oc_set_write(CURL *easy, oc_data_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, callback);
}
static inline CURLcode oc_set_header(CURL *easy, oc_data_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, callback);
}
static inline CURLcode oc_set_open_socket(CURL *easy, oc_open_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
}
static inline CURLcode oc_set_socket_option(CURL *easy, oc_socket_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, callback);
}
static inline CURLcode oc_set_prerequest(CURL *easy, oc_prerequest_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, callback);
}

typedef int (*oc_debug_callback)(CURL *easy, curl_infotype kind, char *bytes, size_t count, void *context);
static inline CURLcode oc_set_debug(CURL *easy, oc_debug_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, callback);
}

// Called before a name is resolved; anything but 0 means that it isn't.
typedef int (*oc_resolver_callback)(void *resolver, void *reserved, void *context);
static inline CURLcode oc_set_resolver_start(CURL *easy, oc_resolver_callback callback) {
    return curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, callback);
}

static inline CURLcode oc_get_long(CURL *easy, CURLINFO info, long *value) { return curl_easy_getinfo(easy, info, value); }
static inline CURLcode oc_get_offset(CURL *easy, CURLINFO info, int64_t *value) {
    curl_off_t offset = 0;
    CURLcode code = curl_easy_getinfo(easy, info, &offset);
    *value = offset;
    return code;
}
static inline CURLcode oc_get_socket(CURL *easy, curl_socket_t *value) {
    return curl_easy_getinfo(easy, CURLINFO_ACTIVESOCKET, value);
}
static inline CURLcode oc_get_string(CURL *easy, CURLINFO info, char **value) { return curl_easy_getinfo(easy, info, value); }
static inline CURLcode oc_get_certificates(CURL *easy, struct curl_certinfo **value) {
    return curl_easy_getinfo(easy, CURLINFO_CERTINFO, value);
}
static inline CURLcode oc_get_pointer(CURL *easy, CURLINFO info, char **value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLMcode oc_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline curl_version_info_data *oc_version(void) { return curl_version_info(CURLVERSION_NOW); }

/* Loads it before its first use, for a command that will use it soon. Where it isn't there, nothing happens yet. */
void oc_load_ahead(void);

/* What TLS has of the connection under way that nobody has read. */
typedef enum {
    OC_TLS_NONE,
    OC_TLS_SOME,
    OC_TLS_STREAMS, /* HTTP/2, where what comes is told apart. */
    OC_TLS_UNKNOWN  /* Another library than OpenSSL. */
} oc_tls_state;
oc_tls_state oc_tls_unread(CURL *easy);

/* curl_url_get(3), whose handle is constant in some versions only. */
CURLUcode oc_url_get(CURLU *url, CURLUPart part, char **text, unsigned flags);

// A finished transfer's message, without the union that Swift sees as an opaque blob.
static inline CURL *oc_multi_finished(CURLM *multi, CURLcode *result) {
    int left = 0;
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}
#endif
