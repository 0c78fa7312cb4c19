/* libcurl brings some twenty libraries, which takes a third of the time that a command needs to start; only a download needs them.
   So it isn't linked, but loaded by the first use: its functions are defined here, and call those of the library. They are hidden: a
   library that is loaded never finds them in place of its own. */
#include <dlfcn.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* After all that it includes, which isn't ours. */
#define CURL_DISABLE_TYPECHECK
#pragma GCC visibility push(hidden)
#include "CCurl.h"
#pragma GCC visibility pop

/* Macros in some versions. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#define FUNCTIONS(F)                                                                                                        \
  F(CURLcode, curl_global_init, (long flags), (flags))                                                                      \
  F(curl_version_info_data *, curl_version_info, (CURLversion age), (age))                                                  \
  F(struct curl_slist *, curl_slist_append, (struct curl_slist * list, const char *text), (list, text))                     \
  F(CURL *, curl_easy_init, (void), ())                                                                                     \
  F(CURLcode, curl_easy_perform, (CURL * easy), (easy))                                                                     \
  F(CURLcode, curl_easy_pause, (CURL * easy, int mask), (easy, mask))                                                       \
  F(const char *, curl_easy_strerror, (CURLcode code), (code))                                                              \
  F(CURLM *, curl_multi_init, (void), ())                                                                                   \
  F(CURLMcode, curl_multi_cleanup, (CURLM * multi), (multi))                                                                \
  F(CURLMcode, curl_multi_add_handle, (CURLM * multi, CURL *easy), (multi, easy))                                           \
  F(CURLMcode, curl_multi_remove_handle, (CURLM * multi, CURL *easy), (multi, easy))                                        \
  F(CURLMcode, curl_multi_perform, (CURLM * multi, int *running), (multi, running))                                         \
  F(CURLMcode, curl_multi_poll,                                                                                             \
    (CURLM * multi, struct curl_waitfd extra[], unsigned count, int milliseconds, int *ready),                              \
    (multi, extra, count, milliseconds, ready))                                                                             \
  F(CURLMcode, curl_multi_wakeup, (CURLM * multi), (multi))                                                                 \
  F(CURLMsg *, curl_multi_info_read, (CURLM * multi, int *left), (multi, left))                                             \
  F(CURLU *, curl_url, (void), ())                                                                                          \
  F(CURLUcode, curl_url_set, (CURLU * url, CURLUPart part, const char *text, unsigned flags), (url, part, text, flags))     \
  F(const char *, curl_url_strerror, (CURLUcode code), (code))

#define COMMANDS(F)                                                                                                         \
  F(curl_easy_cleanup, (CURL * easy), (easy))                                                                               \
  F(curl_free, (void *memory), (memory))                                                                                    \
  F(curl_slist_free_all, (struct curl_slist * list), (list))                                                                \
  F(curl_url_cleanup, (CURLU * url), (url))

/* Of any arguments, or with other types in other versions. */
#define OTHERS(F) F(curl_easy_setopt) F(curl_easy_getinfo) F(curl_multi_setopt) F(curl_url_get)

#define POINTER(name) static __typeof__(&name) loaded_##name;
#define POINTER_OF_FUNCTION(result, name, parameters, arguments) POINTER(name)
#define POINTER_OF_COMMAND(name, parameters, arguments) POINTER(name)
FUNCTIONS(POINTER_OF_FUNCTION)
COMMANDS(POINTER_OF_COMMAND)
OTHERS(POINTER)

/* Of the OpenSSL that libcurl was loaded with; null where it has another library. */
static int (*loaded_has_pending)(const void *tls);
static void (*loaded_protocol)(const void *tls, const unsigned char **name, unsigned *length);

/* As the system's loader ends a program that a library is missing for. */
static void fail(void) {
  const char *reason = dlerror();
  fprintf(stderr, "error: libcurl can't be loaded: %s; install libcurl4\n", reason == NULL ? "" : reason);
  _exit(127);
}

/* Its ABI has had this number since version 7.16 of 2006. */
static void *open_library(void) { return dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL); }

void oc_load_ahead(void) { open_library(); }

static void load(void) {
  void *library = open_library();
  if (library == NULL) fail();
#define FIND(name) \
  if ((loaded_##name = (__typeof__(&name))dlsym(library, #name)) == NULL) fail();
#define FIND_FUNCTION(result, name, parameters, arguments) FIND(name)
#define FIND_COMMAND(name, parameters, arguments) FIND(name)
  FUNCTIONS(FIND_FUNCTION)
  COMMANDS(FIND_COMMAND)
  OTHERS(FIND)
  loaded_has_pending = (__typeof__(loaded_has_pending))dlsym(library, "SSL_has_pending");
  loaded_protocol = (__typeof__(loaded_protocol))dlsym(library, "SSL_get0_alpn_selected");
}

static void load_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
}

#define CALL(result, name, parameters, arguments) \
  result name parameters {                        \
    load_once();                                    \
    return loaded_##name arguments;               \
  }
#define CALL_COMMAND(name, parameters, arguments) \
  void name parameters {                          \
    load_once();                                    \
    loaded_##name arguments;                      \
  }
FUNCTIONS(CALL)
COMMANDS(CALL_COMMAND)

CURLUcode oc_url_get(CURLU *url, CURLUPart part, char **text, unsigned flags) {
  load_once();
  return loaded_curl_url_get(url, part, text, flags);
}

oc_tls_state oc_tls_unread(CURL *easy) {
  struct curl_tlssessioninfo *session = NULL;
  load_once();
  if (loaded_curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &session) != CURLE_OK || session == NULL) return OC_TLS_UNKNOWN;
  if (session->internals == NULL) return OC_TLS_NONE;
  if (session->backend != CURLSSLBACKEND_OPENSSL || loaded_has_pending == NULL || loaded_protocol == NULL) {
    return OC_TLS_UNKNOWN;
  }
  const unsigned char *name = NULL;
  unsigned length = 0;
  loaded_protocol(session->internals, &name, &length);
  if (length == 2 && name[0] == 'h' && name[1] == '2') return OC_TLS_STREAMS;
  return loaded_has_pending(session->internals) ? OC_TLS_SOME : OC_TLS_NONE;
}

/* What is passed is a long, a pointer or a curl_off_t: one word each, in the same place. */
_Static_assert(sizeof(long) == sizeof(void *) && sizeof(curl_off_t) == sizeof(void *), "a platform of 64 bits");
#define FORWARD(result, name, handle, option)   \
  result name(handle first, option second, ...) { \
    va_list rest;                               \
    va_start(rest, second);                     \
    void *value = va_arg(rest, void *);         \
    va_end(rest);                               \
    load_once();                                  \
    return loaded_##name(first, second, value); \
  }
FORWARD(CURLcode, curl_easy_setopt, CURL *, CURLoption)
FORWARD(CURLcode, curl_easy_getinfo, CURL *, CURLINFO)
FORWARD(CURLMcode, curl_multi_setopt, CURLM *, CURLMoption)
